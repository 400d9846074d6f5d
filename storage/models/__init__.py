"""What calls of language models cost, and answers that proved right."""
