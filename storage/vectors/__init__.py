"""Vectors of texts, by their hash."""
