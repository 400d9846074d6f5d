"""What a language model does here, where there is one: agents ask it for values and hold these against the data."""
