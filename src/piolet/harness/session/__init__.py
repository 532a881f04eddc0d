"""The session: an append-only tree of entries in a JSONL file (session format)."""
