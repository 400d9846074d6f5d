"""Where tools beside the built-in ones are kept."""
