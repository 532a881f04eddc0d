"""Piolet: a coding agent for the terminal, and the agent harness under it."""

from piolet._version import __version__

__all__ = ["__version__"]
