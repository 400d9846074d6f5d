"""New columns: arithmetic read from a question, written or said, and named quantities such as the body mass index."""
