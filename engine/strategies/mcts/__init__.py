"""The strategy `mcts`: a search among many candidates or many possible plans."""
