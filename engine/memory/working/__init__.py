"""Working memory: the conversation as a model would see it, within a budget of tokens."""
