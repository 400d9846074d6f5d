"""Who may see the app, and what a browser may do with it."""
