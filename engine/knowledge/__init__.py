"""The knowledge graph: reading it in, walking it, recognising its entities in text and checking claims against it."""
