"""The parts of Settings: models, what they may cost, what isolates steps, what the disk holds."""
