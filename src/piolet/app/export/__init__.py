"""A session as one HTML page: a viewer of all its branches that asks the network for nothing."""
