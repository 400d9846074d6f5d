"""Where knowledge comes from: the starter graph, and public resources that can be downloaded."""
