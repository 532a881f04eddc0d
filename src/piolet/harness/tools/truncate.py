"""Limits on what a tool shows: whole lines from the head, or the tail of a text, also of one that still grows.

Source: the tools specification, section 9. Bytes are those of UTF-8; lines end at LF, a final LF makes no extra line.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec.structs import replace

from piolet.base.json import to_plain
from piolet.llm.messages import Record

MAX_LINES: Final = 2000
MAX_BYTES: Final = 51_200


class Truncation(Record, frozen=True):
    """What was kept of a text, and why not all of it."""

    content: str
    truncated: bool
    truncated_by: Literal["lines", "bytes"] | None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool
    first_line_exceeds_limit: bool
    max_lines: int
    max_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return the record as it stands in the `details` of a result."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def format_size(size: int) -> str:
    """Return ``999B``, ``50.0KB`` or ``1.5MB`` (1024-based)."""
    if size < 1024:
        return f"{size}B"
    return f"{size / 1024:.1f}KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f}MB"


def truncate_head(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Truncation:
    """Keep whole lines from the front while both limits hold."""
    lines, total_bytes = _lines(text), len(text.encode())
    whole = _whole(text, len(lines), total_bytes, max_lines, max_bytes)
    if whole is not None:
        return whole
    kept, size = _fill([len(line.encode()) for line in lines[:max_lines]], max_bytes)
    by_bytes = kept < min(len(lines), max_lines)
    return Truncation(
        content="\n".join(lines[:kept]),
        truncated=True,
        truncated_by="bytes" if by_bytes else "lines",
        total_lines=len(lines),
        total_bytes=total_bytes,
        output_lines=kept,
        output_bytes=size,
        last_line_partial=False,
        first_line_exceeds_limit=kept == 0,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def truncate_tail(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Truncation:
    """Keep whole lines from the back while both limits hold; of a last line that is too long, its end."""
    buffer = TailBuffer(max_lines, max_bytes)
    buffer.append(text)
    return buffer.truncation()


class TailBuffer:
    """A growing text of which only the tail stays in memory; everything is counted."""

    def __init__(self, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> None:
        self.total_bytes = 0
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._tail = bytearray()
        self._line_feeds = 0
        self._line_bytes = 0  # of the line that is still open
        self._last_line_bytes = 0  # of the last one that an LF ended

    @property
    def total_lines(self) -> int:
        return self._line_feeds + (self._line_bytes > 0)

    @property
    def exceeds_limit(self) -> bool:
        return self.total_lines > self._max_lines or self.total_bytes > self._max_bytes

    @property
    def last_line_bytes(self) -> int:
        """The size of the last line, however long, without its LF."""
        return self._line_bytes or self._last_line_bytes

    def append(self, text: str) -> None:
        data = text.encode()
        self.total_bytes += len(data)
        feeds = data.count(b"\n")
        if feeds:
            self._line_feeds += feeds
            last = data.rfind(b"\n")
            before = data.rfind(b"\n", 0, last)
            self._last_line_bytes = last - before - 1 + (self._line_bytes if before < 0 else 0)
            self._line_bytes = len(data) - last - 1
        else:
            self._line_bytes += len(data)
        self._tail += data
        needed = self._max_bytes + 2  # the LF at the end, and a byte to see whether there is more
        if len(self._tail) > 2 * needed:
            del self._tail[:-needed]

    def truncation(self) -> Truncation:
        """Return what `truncate_tail` would give for everything appended so far."""
        if not self.exceeds_limit:
            text = self._tail.decode()
            whole = _whole(text, self.total_lines, self.total_bytes, self._max_lines, self._max_bytes)
            assert whole is not None
            return whole
        tail = bytes(self._tail).removesuffix(b"\n")
        lines = tail.rsplit(b"\n", self._max_lines)[-self._max_lines :]
        lines.reverse()
        kept, size = _fill([len(line) for line in lines], self._max_bytes)
        content, partial = b"\n".join(reversed(lines[:kept])), False
        if kept == 0:
            content, partial = _end_of(lines[0], self._max_bytes), True
            kept, size = 1, len(content)
        by_bytes = partial or kept < min(self.total_lines, self._max_lines)
        return Truncation(
            content=content.decode(),
            truncated=True,
            truncated_by="bytes" if by_bytes else "lines",
            total_lines=self.total_lines,
            total_bytes=self.total_bytes,
            output_lines=kept,
            output_bytes=size,
            last_line_partial=partial,
            first_line_exceeds_limit=False,
            max_lines=self._max_lines,
            max_bytes=self._max_bytes,
        )


def with_totals(truncation: Truncation, total_lines: int, total_bytes: int) -> Truncation:
    """Return the record with the totals of a text of which only the beginning was at hand."""
    return replace(truncation, total_lines=total_lines, total_bytes=total_bytes)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _fill(sizes: list[int], max_bytes: int) -> tuple[int, int]:
    """Return how many of the lines fit, and the bytes that they take with the LFs between them."""
    used = 0
    for index, size in enumerate(sizes):
        with_line = used + size + (1 if index else 0)
        if with_line > max_bytes:
            return index, used
        used = with_line
    return len(sizes), used


def _end_of(line: bytes, max_bytes: int) -> bytes:
    end = line[-max_bytes:]
    start = 0
    while start < len(end) and end[start] & 0xC0 == 0x80:
        start += 1
    return end[start:]


def _whole(text: str, lines: int, size: int, max_lines: int, max_bytes: int) -> Truncation | None:
    if lines > max_lines or size > max_bytes:
        return None
    return Truncation(
        content=text,
        truncated=False,
        truncated_by=None,
        total_lines=lines,
        total_bytes=size,
        output_lines=lines,
        output_bytes=size,
        last_line_partial=False,
        first_line_exceeds_limit=False,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )
