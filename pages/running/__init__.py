"""The parts of Plan & Run: a plan, its settings, a run while it works, its steps."""
