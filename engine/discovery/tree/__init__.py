"""Search in a tree of choices for the end that is worth most, when looking at every end would cost too much."""
