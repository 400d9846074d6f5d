"""Which analyses a question asks for: by its wording, weighed by what the data can serve."""
