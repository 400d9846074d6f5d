"""Questions about the last answer: its numbers, why something is not in it, where it is."""
