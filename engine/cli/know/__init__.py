"""Commands of the knowledge graph and of the memory."""
