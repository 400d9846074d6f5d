"""What no tournament works on: goals and hypotheses that ask for harm."""
