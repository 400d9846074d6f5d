"""Values as text that can be hashed, sealed and shown: plain JSON, escaping, hashes, seals."""
