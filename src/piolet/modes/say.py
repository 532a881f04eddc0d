"""Lines for the user, mostly on standard error: one each, nothing in them that could drive the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from piolet.harness.hooks import HookFailure


def one_line(text: str) -> str:
    """Return foreign `text` safe for the terminal, blanks in place of its line feeds."""
    from piolet.tui.text import safe_for_terminal

    return " ".join(safe_for_terminal(text).split("\n"))


def say(text: str) -> None:
    """Write `text`, which may come from anywhere, as one line. If nobody can read it, work goes on without."""
    try:
        print(one_line(text), file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def warn(text: str) -> None:
    say(f"Warning: {text}")


def complain(text: str) -> None:
    say(f"Error: {text}")


def failure_teller(*, verbose: bool) -> Callable[[HookFailure], None]:
    """Return what tells of a handler that raised, for modes that have no other place for it.

    `verbose`: with the stack, and of slow ones too.
    """

    def tell(failure: HookFailure) -> None:
        if failure.error is not None:
            text = str(failure.error) or type(failure.error).__name__
            say(f"Extension error ({failure.owner}): {failure.hook}: {text}")
            for line in failure.stack.rstrip().split("\n") if verbose else ():
                say(line)
        elif verbose:
            say(f"Slow extension ({failure.owner}): {failure.hook} took {failure.seconds:.1f} s")

    return tell
