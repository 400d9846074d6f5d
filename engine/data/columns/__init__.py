"""What the cells of one column hold, and what the column is."""
