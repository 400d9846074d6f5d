"""Answers that need no plan."""
