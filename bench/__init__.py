"""Benchmarks, each beside the peer (``PI_BIN``) in the same run where it is installed: ``python -m bench NAME``."""
