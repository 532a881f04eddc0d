"""The system prompt, skills and prompt templates: records and pure functions."""
