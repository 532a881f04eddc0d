"""Amazon's event streams: bytes in, events out, wherever the network cuts them.

A frame is: its length, the length of its headers, a checksum of both, the headers, the payload, a checksum of all
before. Numbers are big-endian, checksums CRC-32. Source: providers, section 9.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from piolet.base.json import dumps
from piolet.llm.errors import ProviderError
from piolet.llm.sse import ServerEvent

EXCEPTION = "exception"
_PRELUDE = 12
_CHECKSUM = 4
#: Bytes of a header's value by its type; strings and byte arrays tell their length.
_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_WITH_LENGTH = (6, 7)


class EventStreamSplitter:
    """Splits a byte stream into events, named by their type, with the payload as data.

    What the service throws within the stream is an event `EXCEPTION` of ``{"type": …, "message": …}``. A frame that was
    damaged on the way raises `ProviderError`.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Take the next bytes and yield the events that they complete."""
        self._buffer += chunk
        start = 0
        try:
            while (size := self._frame_size(start)) and len(self._buffer) - start >= size:
                frame = bytes(self._buffer[start : start + size])
                start += size
                yield _event(frame)
        finally:
            del self._buffer[:start]

    def end(self) -> Iterator[ServerEvent]:
        """Raise if the stream ended within a frame; there is nothing else to come."""
        if self._buffer:
            raise ProviderError("Stream ended before its last frame was complete")
        return iter(())

    def _frame_size(self, start: int) -> int:
        """Return the size of the frame at `start`; 0 if not even its prelude is there."""
        if len(self._buffer) - start < _PRELUDE:
            return 0
        prelude = bytes(self._buffer[start : start + _PRELUDE])
        size, headers, checksum = struct.unpack(">III", prelude)
        if zlib.crc32(prelude[:8]) != checksum or headers > size - _PRELUDE - _CHECKSUM:
            raise _damaged()
        return int(size)


def _event(frame: bytes) -> ServerEvent:
    (checksum,) = struct.unpack(">I", frame[-_CHECKSUM:])
    if zlib.crc32(frame[:-_CHECKSUM]) != checksum:
        raise _damaged()
    (headers_size,) = struct.unpack(">I", frame[4:8])
    headers = _headers(frame[_PRELUDE : _PRELUDE + headers_size])
    payload = frame[_PRELUDE + headers_size : -_CHECKSUM].decode("utf-8", "replace")
    match headers.get(":message-type"):
        case "exception":
            message = payload or "{}"
            return ServerEvent(EXCEPTION, f'{{"type":{dumps(headers.get(":exception-type", ""))},"body":{message}}}')
        case "error":
            body = {"message": headers.get(":error-message", "")}
            return ServerEvent(EXCEPTION, dumps({"type": headers.get(":error-code", ""), "body": body}))
        case _:
            return ServerEvent(headers.get(":event-type", ""), payload or "{}")


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are strings."""
    found: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            name_end = place + 1 + data[place]
            name, kind = data[place + 1 : name_end].decode("utf-8", "replace"), data[name_end]
            place = name_end + 1
            if kind in _WITH_LENGTH:
                (size,) = struct.unpack(">H", data[place : place + 2])
                place += 2
            else:
                size = _FIXED_SIZES[kind]
            if kind == 7:
                found[name] = data[place : place + size].decode("utf-8", "replace")
            place += size
    except (IndexError, KeyError, struct.error):
        raise _damaged() from None
    return found


def _damaged() -> ProviderError:
    return ProviderError("Stream interrupted: a frame of the event stream is damaged")
