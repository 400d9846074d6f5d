"""Look-ups in what is stored and known: a loop over declared tools, with or without a model that chooses them."""
