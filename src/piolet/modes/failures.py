"""Failures of handlers, for the modes that have no place for them but standard error."""

from __future__ import annotations

import sys

from piolet.harness.hooks import HookFailure


def failure_to_stderr(failure: HookFailure) -> None:
    """Tell of a handler that raised, in one line."""
    if failure.error is not None:
        print(f"Extension error ({failure.owner}): {failure.hook}: {failure.error}", file=sys.stderr)
