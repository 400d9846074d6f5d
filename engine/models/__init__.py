"""Language models for those who need an answer: which one, how long, at what price, and whether it can be believed."""
