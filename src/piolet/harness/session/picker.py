"""Search and order of a list of sessions, as a picker shows it: pure functions (session format, section 10)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from piolet.harness.session.listing import SessionInfo

SortMode: TypeAlias = Literal["threaded", "recent", "relevance"]
NameFilter: TypeAlias = Literal["all", "named"]


class Word(Struct, frozen=True):
    """What must occur in a session. A phrase is compared with white space folded, and never letter by letter."""

    text: str
    phrase: bool


class Thread(NamedTuple):
    """A session in the list that shows forks under the session they came from."""

    info: SessionInfo
    depth: int


def search(
    infos: Sequence[SessionInfo], query: str, sort: SortMode = "relevance", names: NameFilter = "all"
) -> list[SessionInfo]:
    """Return the sessions that match `query`: all words, ``"phrases"``, or ``re:PATTERN`` (case never matters).

    "relevance" puts the best first, ties newest first; otherwise, and for an empty query, the order stays. A pattern
    that is empty or wrong matches nothing.
    """
    if names == "named":
        infos = [info for info in infos if (info.name or "").strip()]
    query = query.strip()
    if not query:
        return list(infos)
    if query.startswith("re:"):
        matches = [(0, info) for info in _search_pattern(infos, query.removeprefix("re:").strip())]
    else:
        words = parse_query(query)
        matches = [(tiers, info) for info in infos if (tiers := _tiers(info, words)) is not None]
    if sort == "relevance":
        matches.sort(key=lambda match: (match[0], -match[1].modified))
    return [info for _, info in matches]


def parse_query(query: str) -> list[Word]:
    """Return the words and quoted phrases of a query. An unclosed quote is part of its word."""
    if query.count('"') % 2:
        return [Word(word.lower(), False) for word in query.split()]
    words = []
    for place, part in enumerate(query.lower().split('"')):
        if place % 2 == 0:
            words += [Word(word, False) for word in part.split()]
        elif folded := " ".join(part.split()):
            words.append(Word(folded, True))
    return words


def threads(infos: Sequence[SessionInfo]) -> list[Thread]:
    """Return `infos` with forks under their parents, the family with the newest activity first."""
    places = {os.path.realpath(info.path): place for place, info in enumerate(infos)}
    parents = [
        places.get(os.path.realpath(info.parent_session_path)) if info.parent_session_path else None for info in infos
    ]
    newest = [info.modified for info in infos]
    for place, info in enumerate(infos):
        seen, ancestor = {place}, parents[place]
        while ancestor is not None:
            if ancestor in seen:  # sessions that descend from each other
                parents[place] = None
                break
            seen.add(ancestor)
            newest[ancestor] = max(newest[ancestor], info.modified)
            ancestor = parents[ancestor]
    families: dict[int | None, list[int]] = {}
    for place in sorted(range(len(infos)), key=lambda place: newest[place]):
        families.setdefault(parents[place], []).append(place)
    stack = [(place, 0) for place in families.get(None, ())]
    shown = []
    while stack:
        place, depth = stack.pop()
        shown.append(Thread(infos[place], depth))
        stack += [(child, depth + 1) for child in families.get(place, ())]
    return shown


def _search_pattern(infos: Sequence[SessionInfo], pattern: str) -> list[SessionInfo]:
    if not pattern:
        return []
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error:
        return []
    return [
        info
        for info in infos
        if compiled.search(f"{info.id} {info.name or ''} {info.all_messages_text} {info.cwd}") is not None
    ]


def _tiers(info: SessionInfo, words: Sequence[Word]) -> int | None:
    """Return the sum of how far each word is from the name, None if one does not occur."""
    name, cwd, text = (info.name or "").lower(), info.cwd.lower(), info.all_messages_text.lower()
    fields = (info.id.lower(), text, cwd)
    total = 0
    for word in words:
        if word.phrase:
            name_hit = word.text in _folded(name)
            field_hit = any(word.text in _folded(field) for field in fields)
            scattered = False
        else:
            name_hit = word.text in name
            field_hit = any(word.text in field for field in fields)
            scattered = _is_scattered(word.text, name) or _is_scattered(word.text, cwd)
        if not (name_hit or field_hit or scattered):
            return None
        total += 0 if name_hit else 1 if field_hit else 2
    return total


def _folded(text: str) -> str:
    return " ".join(text.split())


def _is_scattered(word: str, text: str) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in word)
