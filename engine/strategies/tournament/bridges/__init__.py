"""Links that the knowledge graph does not state and its paths speak for: found, ranked, put into words, and placed."""
