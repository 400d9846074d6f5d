"""Proteomics."""
