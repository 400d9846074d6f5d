"""Chemistry."""
