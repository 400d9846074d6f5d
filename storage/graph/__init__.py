"""The knowledge graph as rows."""
