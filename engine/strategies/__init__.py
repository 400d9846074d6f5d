"""Ways to answer a question. `dag` runs a plan's steps as their inputs become ready."""
