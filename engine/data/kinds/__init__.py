"""The kinds of data: how a file of each is recognised."""
