"""Look-ups in what is stored and known: a loop over declared look-up tools, with or without a model that chooses them."""
