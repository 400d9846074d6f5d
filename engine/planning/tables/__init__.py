"""The data as a plan sees them: files with their columns and structure, and the values when a decision needs them."""
