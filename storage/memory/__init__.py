"""What is remembered: episodes, facts, conversations."""
