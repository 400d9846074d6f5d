"""What the user sees. A page reads its widgets, makes one call to `engine.api` and shows the values it gets.

Modules whose name starts with an underscore are shared parts; the others are pages (see `desk.py`).
"""
