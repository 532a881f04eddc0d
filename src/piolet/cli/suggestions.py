"""What somebody who mistyped a word probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(word: str, known: Iterable[str], *, likeness: float = 0.7) -> str:
    """Return a question to append to an error, with those of `known` that are most like `word`; empty without any."""
    from difflib import get_close_matches

    meant = get_close_matches(word, list(known), n=2, cutoff=likeness)
    return f" Did you mean {' or '.join(meant)}?" if meant else ""


def unknown_options(names: Sequence[str]) -> str:
    """Return the error for options (as written) that neither piolet nor an extension knows in this form."""
    hints = "".join(map(_hint, names))
    text = f"Unknown option{'s' if len(names) > 1 else ''}: {', '.join(names)}"
    return f"{text}.{hints}" if hints else text


def _hint(word: str) -> str:
    from piolet.cli.args import OPTION_NAMES, OPTIONS

    for option in OPTIONS:
        if word in option.names:  # only the value is missing, or in the wrong place
            return f" Its value is the next argument: {word} {option.metavar}" if option.metavar else " It has no value"
    return did_you_mean(word, OPTION_NAMES)
