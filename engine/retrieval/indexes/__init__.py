"""What is worked out once for all tools and kept: terms, vectors, links."""
