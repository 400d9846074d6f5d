"""Readers of catalogues of tools that others maintain."""
