"""The built-in tools, over an environment only."""
