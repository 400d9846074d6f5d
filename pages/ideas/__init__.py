"""The parts of the page Hypotheses."""
