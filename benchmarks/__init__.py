"""What Biodesk costs beside the same work done by hand. `python -m benchmarks` runs all of it."""
