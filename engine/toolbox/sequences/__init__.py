"""Sequences."""
