"""The session: an append-only tree of entries."""
