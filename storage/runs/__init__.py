"""Runs, plans, results, events and the files they made."""
