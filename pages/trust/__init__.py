"""The parts of Provenance: where everything came from, what differs between two runs, what can be taken away."""
