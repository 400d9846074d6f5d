"""What the user sees. A page reads its widgets, makes one call to `engine.api` and shows the values it gets.

The modules here are the pages (see `desk.py`); the parts of each are in a folder beside it, shared ones in `parts/`.
"""
