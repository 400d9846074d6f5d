"""The stages of a tournament; `engine.strategies.tournament.loop` is their order."""
