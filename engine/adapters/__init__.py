"""Implementations of the ports: each names one outside thing (a process, a clock) and nothing of the core."""
