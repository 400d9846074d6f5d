"""What the engine needs from outside, as protocols, each in a file of its own.

Implemented in `storage` and `engine.adapters`, chosen in `engine.bootstrap`, tested once per port in
`tests/contract` for every implementation, the twins without a disk included.
"""
