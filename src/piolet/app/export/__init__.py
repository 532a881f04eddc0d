"""A session as one HTML page: all its branches, with no script in it and nothing that it would load."""
