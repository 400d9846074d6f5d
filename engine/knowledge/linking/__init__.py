"""Recognising the entities of a graph in texts."""
