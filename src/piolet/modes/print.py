"""Print mode: one prompt after the other, the last answer on standard output."""
