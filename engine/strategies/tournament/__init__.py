"""A tournament of hypotheses: made, reviewed, compared two by two, rewritten, tested; by rules or by a model."""
