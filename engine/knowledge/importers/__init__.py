"""Readers of the formats knowledge comes in: each yields batches of rows and names the line of what it cannot read."""
