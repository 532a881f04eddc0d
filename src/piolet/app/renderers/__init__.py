"""How tool calls and messages look, for the terminal and for HTML."""
