"""What somebody who mistyped a word probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(word: str, known: Iterable[str], *, likeness: float = 0.7) -> str:
    """Return a question to append to an error, with those of `known` that are most like `word`; empty without any."""
    from difflib import get_close_matches

    meant = get_close_matches(word, list(known), n=2, cutoff=likeness)
    return f" Did you mean {' or '.join(meant)}?" if meant else ""


def unknown_options(names: Sequence[str]) -> str:
    """Return the error for options (long names without dashes) that neither piolet nor an extension knows."""
    from piolet.cli.args import OPTION_NAMES

    words = [f"--{name}" for name in names]
    questions = "".join(did_you_mean(word, OPTION_NAMES) for word in words)
    text = f"Unknown option{'s' if len(words) > 1 else ''}: {', '.join(words)}"
    return f"{text}.{questions}" if questions else text
