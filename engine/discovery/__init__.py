"""Ranking of ideas by comparisons, and what makes a ranking trustworthy: pure functions, no I/O."""
