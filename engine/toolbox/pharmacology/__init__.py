"""Pharmacology."""
