"""Episodic memory: past analyses and which of them bear on a question."""
