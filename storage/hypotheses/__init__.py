"""Tournaments of hypotheses, on disk and without one."""
