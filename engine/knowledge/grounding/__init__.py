"""Comparing claims with the graph."""
