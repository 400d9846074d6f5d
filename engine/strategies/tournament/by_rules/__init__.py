"""The roles of a tournament without a model: patterns of the knowledge graph, and rules over evidence."""
