"""What somebody who wrote a wrong option probably meant."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.base.likeness import did_you_mean


def unknown_options(names: Sequence[str], hint: str = "") -> str:
    """Return the error for options (as written) that neither piolet nor an extension knows in this form; with `hint`
    behind those of our own."""
    hints = "".join(map(_hint, names)) + (f" {hint}" if hint else "")
    text = f"Unknown option{'s' if len(names) > 1 else ''}: {', '.join(names)}"
    return f"{text}.{hints}" if hints else text


def _hint(word: str) -> str:
    from piolet.cli.args import OPTION_NAMES, OPTIONS

    for option in OPTIONS:
        if word in option.names:  # only the value is missing, or in the wrong place
            return f" Its value is the next argument: {word} {option.metavar}" if option.metavar else " It has no value"
    return did_you_mean(word, OPTION_NAMES)
