"""What somebody who mistyped a word probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], *, likeness: float = 0.7) -> str:
    """Return a question to append to an error, with those of `known` that are most like `word`; empty without any."""
    from difflib import get_close_matches

    meant = get_close_matches(word, list(known), n=2, cutoff=likeness)
    return f" Did you mean {' or '.join(meant)}?" if meant else ""
