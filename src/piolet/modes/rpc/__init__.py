"""RPC mode: commands in, responses and events out, one JSON object a line."""
