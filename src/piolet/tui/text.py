"""Plain text on a grid of cells: width, grapheme clusters, cutting, wrapping, tabs, and making foreign text safe.

Widths follow UAX 11 and what terminals do: East Asian wide and emoji take two cells, marks and format characters
none, a cluster joined by ZWJ the width of its first member. Text here holds no escape sequences; styled strings are
the subject of `piolet.tui.ansi`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from piolet.base.ansi import strip_escapes

TAB = "   "  # what a tab is drawn as everywhere but in the editor
ELLIPSIS = "…"

_ZWJ, _VS16 = "\u200d", "\ufe0f"
_MODIFIERS = range(0x1F3FB, 0x1F400)
_REGIONAL = range(0x1F1E6, 0x1F200)
# Bases that emoji presentation (VS16) makes wide, beside symbols.
_WIDENED = frozenset("#*0123456789‼⁉ℹ〰")
# Format characters that are seen: the soft hyphen, and signs that enclose the digits after them.
_DRAWN_FORMATS = frozenset(
    "\u00ad\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
_unsafe = re.compile("[\u202a-\u202e\u2066-\u2069]")  # overrides of the writing direction show text that is not there
_surrogates = re.compile("[\ud800-\udfff]")
_ascii_pieces = re.compile(r"[ \t]+|[^ \t]+")


class _CharWidths(dict[str, int]):
    """Cells of one character, computed once. Negative: a character whose meaning depends on the one before it."""

    def __missing__(self, char: str) -> int:
        self[char] = value = _char_width(char)
        return value


def _char_width(char: str) -> int:
    code = ord(char)
    if code in _REGIONAL:
        return -1
    if code in _MODIFIERS:
        return -2
    category = unicodedata.category(char)
    if category in ("Mn", "Me", "Mc", "Cc", "Zl", "Zp", "Cs"):
        return 0
    if category == "Cf":
        return 1 if char in _DRAWN_FORMATS else 0
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF or code in (0x3164, 0xFFA0):
        return 0  # vowels and finals of Hangul join the initial before them
    if category == "Cn" and code < 0x20000:  # newer than the interpreter's tables: an emoji, or unknown
        return 2 if 0x1F300 <= code <= 0x1F6FF or 0x1F900 <= code <= 0x1FAFF else 1
    return 2 if unicodedata.east_asian_width(char) in "WF" or 0x4DC0 <= code <= 0x4DFF else 1


_widths = _CharWidths()
_width_of = _widths.__getitem__


def width(text: str) -> int:
    """Return how many cells `text` takes. Controls, also tab and line feed, count nothing."""
    if text.isascii() and text.isprintable():
        return len(text)
    widths = list(map(_width_of, text))
    if min(widths) >= 0 and _ZWJ not in text and _VS16 not in text:
        return sum(widths)
    return sum(map(_cluster_width, graphemes(text)))


def _cluster_width(cluster: str) -> int:
    first = _width_of(cluster[0])
    if len(cluster) == 1:
        return abs(first)
    if _VS16 in cluster:
        base = cluster[0]
        wide = first == 2 or base in _WIDENED or unicodedata.category(base) in ("So", "Sm")
        return 2 if wide else abs(first)
    return 2 if first < 0 else first


def graphemes(text: str) -> list[str]:
    """Return the grapheme clusters of `text`: what one press of an arrow key passes over. Joined they are `text`."""
    if text.isascii():
        return list(text)
    widths = list(map(_width_of, text))
    if min(widths) > 0:
        return list(text)
    clusters: list[str] = []
    last, joined = "", False  # the cluster being built; whether a ZWJ ends it
    for char, cells in zip(text, widths, strict=True):
        if cells == 0:
            attaches = last != "" and char >= " " and not (char == "\x7f" or last in "\n\t")
        elif cells == -1:
            attaches = len(last) == 1 and _width_of(last) == -1
        elif cells == -2:
            attaches = last != "" and _width_of(last[0]) == 2
        else:
            attaches = joined and (cells == 2 or "\u2190" <= char <= "\u2bff")
        if attaches:
            last += char
        else:
            if last:
                clusters.append(last)
            last = char
        joined = char == _ZWJ
    clusters.append(last)
    return clusters


def cells(text: str) -> Iterator[tuple[str, int]]:
    """Yield each cluster of `text` with the cells it takes."""
    for cluster in graphemes(text):
        yield cluster, _cluster_width(cluster)


def fit(text: str, limit: int) -> int:
    """Return how many code points from the start of `text` fit in `limit` cells, never parting a cluster."""
    if text[: limit + 1].isascii():
        return max(0, min(limit, len(text)))
    used = index = 0
    for cluster, size in cells(text):
        used += size
        if used > limit:
            return index
        index += len(cluster)
    return index


def truncate(text: str, limit: int, ellipsis: str = ELLIPSIS) -> str:
    """Return `text`, or as much of its start as fits in `limit` cells together with `ellipsis`."""
    if len(text) <= limit // 2 or width(text) <= limit:
        return text
    room = limit - width(ellipsis)
    if room < 0:
        return text[: fit(text, limit)]
    return text[: fit(text, room)] + ellipsis


def wrap_ranges(text: str, limit: int) -> list[tuple[int, int]]:
    """Break one line of `text` into rows of at most `limit` cells; return (start, end) offsets that cover all of it.

    Rows break behind blanks and between ideographs; a word longer than a row is cut between clusters. One blank at the
    end of a row may hang over the edge; otherwise only a cluster wider than `limit` makes a row too wide.
    """
    limit = max(1, limit)
    if len(text) <= limit and (text.isascii() or width(text) <= limit):
        return [(0, len(text))]
    starts = [0]
    used, blank = 0, True  # cells of the current row; whether it holds blanks only
    for match in (_ascii_pieces if text.isascii() else _pieces()).finditer(text):
        piece, at = match[0], match.start()
        if piece[0] in " \t":
            if used + len(piece) <= limit + 1:
                used += len(piece)
            else:
                used = _cut(piece, at, used, limit + 1, starts)
                blank = True
            continue
        if joined := 0 if text.isascii() else _joined(text, at, piece):  # no row begins inside a cluster
            piece, at = piece[joined:], at + joined
        size = width(piece)
        if used + size > limit and used and (size <= limit or not blank):
            starts.append(at)
            used = 0
        used = used + size if used + size <= limit else _cut(piece, at, used, limit, starts)
        blank = False
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


@lru_cache(1)
def _pieces() -> re.Pattern[str]:
    """Return the pattern of blanks, one ideograph or kana with its marks, or a word of anything else. Its large sets
    cost milliseconds to compile: who writes ASCII need not pay."""
    return re.compile(
        r"[ \t]+"
        "|[\u2e80-\u303e\u3041-\uabff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]"
        "[\u0300-\u036f\u3099\u309a\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]*"
        "|[^ \t\u2e80-\uabff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]+|."
    )


def _joined(text: str, at: int, piece: str) -> int:
    """Return how many characters at the start of `piece`, which is at `at`, belong to the cluster before it."""
    if not at or (_width_of(piece[0]) in (1, 2) and text[at - 1] != _ZWJ):
        return 0
    start = max(0, at - 32)
    size = 0
    for cluster in graphemes(text[start : at + len(piece)]):
        size += len(cluster)
        if start + size >= at:
            return start + size - at
    return 0


def _cut(piece: str, at: int, used: int, limit: int, starts: list[int]) -> int:
    """Cut `piece`, which begins at offset `at` in cell `used` of a row, over rows of `limit` cells: append where they
    start to `starts`, return the cells used in the last one."""
    if piece.isascii():
        breaks = range(at + limit - used, at + len(piece), limit)
        starts += breaks
        return at + len(piece) - breaks[-1] if breaks else used + len(piece)
    for cluster, size in cells(piece):
        if used + size > limit and used:
            starts.append(at)
            used = 0
        used += size
        at += len(cluster)
    return used


def row_ranges(text: str, limit: int) -> list[tuple[int, int]]:
    """Return the offsets of the rows that one line of `text` is drawn in: `wrap_ranges` without the blanks at breaks,
    so that no row is wider than `limit`."""
    rows = wrap_ranges(text, limit)
    last = len(rows) - 1
    return [_without_blanks(text, start, end, bool(n), n < last, limit) for n, (start, end) in enumerate(rows)]


def _without_blanks(text: str, start: int, end: int, front: bool, back: bool, limit: int) -> tuple[int, int]:
    while front and start < end and text[start] == " ":
        start += 1
    while back and start < end and text[end - 1] == " ":
        end -= 1
    if text[end - 1 : end] == " " and width(text[start:end]) > limit:
        end -= 1  # the blank that hung over the edge of the last row
    return start, end


def wrap(text: str, limit: int) -> list[str]:
    """Return the lines of `text` in rows of at most `limit` cells, without the blanks at the breaks."""
    rows = [line[start:end] for line in text.split("\n") for start, end in row_ranges(line, limit)]
    return rows if limit > 1 else [truncate(row, limit) for row in rows]  # no wide character fits one cell


def expand_tabs(text: str) -> str:
    """Return `text` with each tab as three blanks."""
    return text.replace("\t", TAB) if "\t" in text else text


def safe_for_terminal(text: str) -> str:
    """Return foreign `text` as it may be drawn: no escape sequence, no control but tab and line feed, no override of
    the writing direction; lone surrogates become U+FFFD."""
    text = strip_escapes(text)
    if text.isascii():
        return text
    return _surrogates.sub("\ufffd", _unsafe.sub("", text))


def one_line(text: str) -> str:
    """Return foreign `text` safe and on one line: each run of blanks, tabs and line feeds is one blank."""
    return " ".join(safe_for_terminal(text).split())
