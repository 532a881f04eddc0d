"""JSON mode: the events of all prompts as one stream of JSON lines."""
