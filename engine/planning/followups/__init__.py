"""Questions that go on from the one before, and those that could be asked next."""
