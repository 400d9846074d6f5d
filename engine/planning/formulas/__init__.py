"""Columns that a step makes: arithmetic read from a question, named quantities, and what is planned with as if it were there."""
