"""Carrying a plan out: run a step, judge it, repair it by rule, and end with a checked report that is remembered."""
