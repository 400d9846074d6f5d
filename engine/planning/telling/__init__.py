"""What a plan says of itself: goals in words, what is refused, and what nothing answers to."""
