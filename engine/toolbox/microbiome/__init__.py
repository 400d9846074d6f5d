"""Microbiome."""
