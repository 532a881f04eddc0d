"""The diff of an edit as styled lines: signs, line numbers, and the words that changed in a replaced line.

Reads the form that the edit tool keeps for people (tool specification, section 4): sign, line number right-aligned,
blank, text; ``...`` in place of a skipped part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from piolet.tui.spans import Line, Span, Style, row, wrap
from piolet.tui.text import expand_tabs, safe_for_terminal

MAX_WORDS = 400  # a line of more is not compared word by word

_STYLES = {" ": Style("toolDiffContext"), "-": Style("toolDiffRemoved"), "+": Style("toolDiffAdded")}
_numbered = re.compile(r"([ +-] *\d+ )(.*)", re.DOTALL)
_skipped = re.compile(r"( *)\.\.\.\Z")
_words = re.compile(r"\s+|\w+|[^\w\s]")


def diff_lines(diff: str, limit: int) -> list[Line]:
    """Return the lines of `diff` in rows of at most `limit` cells; text hangs behind the numbers."""
    source = expand_tabs(safe_for_terminal(diff)).split("\n")
    lines: list[Line] = []
    at = 0
    while at < len(source):
        removed = _run(source, at, "-")
        added = _run(source, at + removed, "+")
        if removed == 1 and added == 1:
            old, new = _split(source[at]), _split(source[at + 1])
            before, after = _compare(old[1], new[1])
            lines += _rows(old[0], before, limit, _STYLES["-"])
            lines += _rows(new[0], after, limit, _STYLES["+"])
            at += 2
            continue
        for line in source[at : at + max(1, removed + added)]:
            gutter, text = _split(line)
            style = _STYLES.get(line[:1], _STYLES[" "])
            lines += _rows(gutter, row(text, style), limit, style)
        at += max(1, removed + added)
    return lines


def _run(source: Sequence[str], at: int, sign: str) -> int:
    """Return how many lines from `at` on have `sign`."""
    end = at
    while end < len(source) and source[end].startswith(sign) and _numbered.match(source[end]):
        end += 1
    return end - at


def _split(line: str) -> tuple[str, str]:
    """Return what stands left of the text, and the text."""
    match = _numbered.fullmatch(line)
    if match:
        return match[1], match[2]
    skipped = _skipped.match(line)
    return (skipped[1], "...") if skipped else ("", line)


def _rows(gutter: str, text: Line, limit: int, style: Style) -> list[Line]:
    if not gutter or len(gutter) >= limit:
        return wrap((*row(gutter, style), *text), limit)
    head, hanging = Span(gutter, style), Span(" " * len(gutter), style)
    return [(hanging if number else head, *piece) for number, piece in enumerate(wrap(text, limit - len(gutter)))]


def _compare(old: str, new: str) -> tuple[Line, Line]:
    """Return both lines with what differs in reverse video."""
    before, after = _words.findall(old), _words.findall(new)
    if len(before) > MAX_WORDS or len(after) > MAX_WORDS:
        return row(old, _STYLES["-"]), row(new, _STYLES["+"])
    removed: list[Span] = []
    added: list[Span] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        _add(removed, "".join(before[start:end]), _STYLES["-"], kind != "equal")
        _add(added, "".join(after[new_start:new_end]), _STYLES["+"], kind != "equal")
    return tuple(removed), tuple(added)


def _add(spans: list[Span], text: str, style: Style, changed: bool) -> None:
    if changed and not spans:  # the indent of the line
        bare = text.lstrip()
        if len(bare) < len(text):
            spans.append(Span(text[: len(text) - len(bare)], style))
            text = bare
    if text:
        spans.append(Span(text, style._replace(reverse=changed)))
