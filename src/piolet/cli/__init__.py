"""Floor 6: arguments, start-up, wiring."""
