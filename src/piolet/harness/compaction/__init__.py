"""Compaction and branch summaries: pure planning, and one step that asks a model."""
