"""Intervals."""
