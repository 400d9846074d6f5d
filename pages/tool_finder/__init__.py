"""The parts of Tools: the search, and the catalogues of others."""
