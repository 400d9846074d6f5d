"""Calls on what is known: the graph, what is imported into it, and the memory."""
