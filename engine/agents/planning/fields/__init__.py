"""What each field of biology expects around a goal: its quality control, its designs, its companions.

Each module has one function that takes a `Context`, adds steps to its builder and raises `PlanError` with
what is missing. A tool no field knows is planned by `generic` from its description alone.
"""
