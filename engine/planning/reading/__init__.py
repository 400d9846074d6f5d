"""What a question says: what grammar makes of the names, which rows are meant, what is set against what."""
