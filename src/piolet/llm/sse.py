"""Server-sent events: bytes in, events out, wherever the network cuts them. Source: HTML standard, event streams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event of a stream: its name ("" without one) and its data, several lines joined by LF."""

    name: str
    data: str


_line_end = re.compile(b"\r\n|\r|\n")


class SseSplitter:
    """Splits a byte stream into events. Lines end with CR, LF or CRLF, and with nothing else (not with U+2028).

    Work is linear: bytes are looked at once, an unfinished line is kept in pieces.
    """

    def __init__(self) -> None:
        self._open_line: list[bytes] = []
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Take the next bytes and yield the events that they complete."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        *complete, rest = _line_end.split(chunk)
        for line in complete:
            if self._open_line:
                self._open_line.append(line)
                line = b"".join(self._open_line)
                self._open_line.clear()
            if (event := self._take(line)) is not None:
                yield event
        if rest:
            self._open_line.append(rest)

    def end(self) -> Iterator[ServerEvent]:
        """Yield what the stream left unfinished: many servers forget the last blank line."""
        for line in (b"".join(self._open_line), b""):
            if (event := self._take(line)) is not None:
                yield event
        self._open_line.clear()

    def _take(self, line: bytes) -> ServerEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            event = ServerEvent(self._name, "\n".join(self._data)) if self._data else None
            self._name = ""
            self._data = []
            return event
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        return None
