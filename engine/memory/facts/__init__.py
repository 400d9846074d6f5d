"""Semantic memory: facts, what supports and what excludes them, and the one-way door to the knowledge graph."""
