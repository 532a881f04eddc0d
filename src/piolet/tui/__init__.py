"""Floor 1: the terminal. The pure part (theme, text, markdown, diff, keys, editor buffer) and ``widgets``."""
