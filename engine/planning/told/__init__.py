"""Plans whose goals somebody else has read from the question: a language model, or a program."""
