"""Single-cell data."""
