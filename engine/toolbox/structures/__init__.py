"""Structures."""
