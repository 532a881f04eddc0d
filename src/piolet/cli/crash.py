"""What a user sees of an error that nobody expected."""

from __future__ import annotations

import sys
import traceback


def report_crash(error: Exception, *, verbose: bool) -> int:
    """Tell of `error` in one line, with the traceback if `verbose`; return the exit code."""
    if verbose:
        traceback.print_exception(error)
    print(f"Error: {type(error).__name__}: {error}", file=sys.stderr)
    if not verbose:
        print("This is a fault in piolet. --verbose shows where it happened.", file=sys.stderr)
    return 1
