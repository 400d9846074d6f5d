"""Clinical."""
