"""Floor 1: talk to models. Messages, one event stream over many wire protocols, catalogue, credentials."""
