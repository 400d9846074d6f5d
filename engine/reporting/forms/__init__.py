"""What a finished run is written as: HTML, PDF, Markdown, run.json, and the bundle of them with data and notebook."""
