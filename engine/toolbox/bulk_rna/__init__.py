"""Bulk RNA-seq."""
