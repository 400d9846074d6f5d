"""The roles of a tournament with a model: what it says is held against the graph, and rules stand behind each role."""
