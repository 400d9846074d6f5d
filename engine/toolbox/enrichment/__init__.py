"""Gene sets."""
