"""Which links a typed graph lacks: degree-weighted path counts, a fitted model over them, and what speaks for each."""
