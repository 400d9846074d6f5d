"""Time to an event."""
