"""Decides how a question is answered."""
