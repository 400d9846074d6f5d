"""The steps of a plan, and what each takes from another."""
