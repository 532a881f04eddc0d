"""How tool calls look, for the terminal and for exported pages: one module for each kind of tool."""
