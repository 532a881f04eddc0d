"""Amazon's event streams: frames with checksums, cut anywhere."""

from __future__ import annotations

import json
import struct
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.llm.errors import ProviderError
from piolet.llm.protocols.aws_event_stream import EXCEPTION, EventStreamSplitter
from piolet.llm.retry import is_retryable
from piolet.llm.sse import ServerEvent
from tests.llm.wire import aws, aws_frame

EVENTS = [("messageStart", {"role": "assistant"}), ("contentBlockDelta", {"delta": {"text": "é\n\n{"}}), ("empty", {})]
BODY = aws(*EVENTS)
SPLIT = [ServerEvent(name, json.dumps(payload)) for name, payload in EVENTS]


def split(*chunks: bytes) -> list[ServerEvent]:
    splitter = EventStreamSplitter()
    return [event for chunk in chunks for event in splitter.feed(chunk)] + list(splitter.end())


def test_frames_are_events() -> None:
    assert split(BODY) == SPLIT
    assert split() == []


def test_the_splitter_agrees_with_botocore() -> None:
    eventstream = pytest.importorskip("botocore.eventstream")
    buffer = eventstream.EventStreamBuffer()
    buffer.add_data(BODY)
    assert [(e.headers[":event-type"], e.payload.decode()) for e in buffer] == [(e.name, e.data) for e in split(BODY)]


def test_each_byte_alone() -> None:
    assert split(*(bytes([byte]) for byte in BODY)) == SPLIT


@given(st.lists(st.integers(0, len(BODY)), max_size=8))
def test_any_cutting_gives_the_same_events(cuts: list[int]) -> None:
    places = sorted({0, len(BODY), *cuts})
    assert split(*(BODY[start:stop] for start, stop in pairwise(places))) == SPLIT


@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(BODY)
    damaged[place] ^= change
    with pytest.raises(ProviderError) as caught:
        split(bytes(damaged))
    assert is_retryable(str(caught.value))


@given(st.integers(1, len(BODY) - 1))
def test_a_body_that_ends_within_a_frame_is_an_error(length: int) -> None:
    ends = [len(aws(*EVENTS[:count])) for count in range(1, len(EVENTS))]
    if length in ends:
        assert split(BODY[:length]) == SPLIT[: ends.index(length) + 1]
        return
    with pytest.raises(ProviderError) as caught:
        split(BODY[:length])
    assert is_retryable(str(caught.value))


def test_exceptions_and_errors() -> None:
    thrown = aws(("throttlingException", {"message": "slow down"}), kind="exception")
    told = aws_frame({":message-type": "error", ":error-code": "500", ":error-message": "boom"}, b"")
    [one, other] = split(thrown + told)
    assert (one.name, other.name) == (EXCEPTION, EXCEPTION)
    assert json.loads(one.data) == {"type": "throttlingException", "body": {"message": "slow down"}}
    assert json.loads(other.data) == {"type": "500", "body": {"message": "boom"}}


def test_headers_of_other_types_are_passed_over() -> None:
    values = [(0, b""), (2, b"\x01"), (3, b"12"), (4, b"1234"), (5, b"12345678"), (6, b"\x00\x03abc"), (9, b"x" * 16)]
    headers = b"".join(struct.pack(">B", 1) + b"h" + bytes([kind]) + value for kind, value in values)
    headers += struct.pack(">B", 11) + b":event-type" + b"\x07\x00\x04last"
    prelude = struct.pack(">II", len(headers) + 16, len(headers))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers
    assert split(frame + struct.pack(">I", zlib.crc32(frame))) == [ServerEvent("last", "{}")]
