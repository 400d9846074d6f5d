"""Phylogenetics."""
