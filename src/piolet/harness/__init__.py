"""Floor 3: the whole car, for people who embed it."""
