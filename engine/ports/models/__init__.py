"""Language models: what asks one, and where its calls are kept."""
