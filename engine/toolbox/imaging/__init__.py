"""Imaging."""
