"""What somebody who mistyped a word probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the one of `known` that is most like `word`; None if none is much like it."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return found[0] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question to append to an error, or nothing."""
    meant = closest(word, known)
    return f". Did you mean {meant}?" if meant else ""


def unknown_options(names: Sequence[str]) -> str:
    """Return the error for options (long names without dashes) that neither piolet nor an extension knows."""
    from piolet.cli.args import OPTION_NAMES

    words = [f"--{name}" for name in names]
    meant = [closest(word, OPTION_NAMES) for word in words]
    hints = [option for option in meant if option is not None]
    question = f". Did you mean {', '.join(hints)}?" if hints else ""
    return f"Unknown option{'s' if len(words) > 1 else ''}: {', '.join(words)}{question}"
