"""Floor 5: faces of one Runtime."""
