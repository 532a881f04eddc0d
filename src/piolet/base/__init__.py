"""Floor 0: what has no subject of its own (JSON writer, ids, abort signal, paths, locks, text widths)."""
