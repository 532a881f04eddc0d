"""Real counterparts for tests: a scripted model server, runs of piolet, a terminal, a llama.cpp server, the peer."""
