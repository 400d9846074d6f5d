"""What the rows and columns of a table are to each other, found from the values."""
