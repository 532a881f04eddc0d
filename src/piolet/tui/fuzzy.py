"""Fuzzy matching: how well a few typed characters fit a name (terminal specification, section 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_boundary = frozenset(" -_./:")
_swappable = re.compile(r"([a-z]+)([0-9]+)|([0-9]+)([a-z]+)")
_separators = re.compile(r"[\s/]+")


def score(query: str, text: str) -> float | None:
    """Return how well `query` fits `text`, lower is better; None if it does not. Letter case does not count.

    The characters must occur in order. Runs, beginnings of words and early places are better, gaps worse; letters and
    digits that stand the other way round (``5gpt`` for ``gpt5``) are tried last.
    """
    query, text = query.lower(), text.lower()
    if not query:
        return 0.0
    found = _score(query, text)
    if found is None and (match := _swappable.fullmatch(query)):
        swapped = _score("".join(reversed([group for group in match.groups() if group])), text)
        return None if swapped is None else swapped + 5
    return found


def _score(query: str, text: str) -> float | None:
    places: list[int] = []
    at = -1
    for char in query:
        at = text.find(char, at + 1)
        if at < 0:
            return None
        places.append(at)
    best = _rate(places, text)
    whole = text.find(query)
    if whole >= 0:
        best = min(best, _rate(range(whole, whole + len(query)), text))
    return best - 100 if query == text else best


def _rate(places: Iterable[int], text: str) -> float:
    total, run, last = 0.0, 0, -1
    for at in places:
        if last >= 0 and at == last + 1:
            run += 1
            total -= 5 * run
        else:
            run = 0
            total += 2 * (at - last - 1) if last >= 0 else 0
        if at == 0 or text[at - 1] in _boundary:
            total -= 10
        total += 0.1 * at
        last = at
    return total


def score_words(query: str, text: str) -> float | None:
    """Return the sum of the scores of the words of `query`, parted by blanks and ``/``; None unless all fit."""
    total = 0.0
    for word in _separators.split(query.strip()):
        found = score(word, text)
        if found is None:
            return None
        total += found
    return total


def rank(query: str, items: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """Return the items that fit `query`, best first; equal ones, and all for an empty query, stay in order."""
    if not query.strip():
        return list(items)
    scored = [(found, item) for item in items if (found := score_words(query, text_of(item))) is not None]
    scored.sort(key=lambda pair: pair[0])
    return [item for _, item in scored]
