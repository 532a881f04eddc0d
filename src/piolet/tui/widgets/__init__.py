"""Textual widgets over the pure part of ``tui``."""
