"""Whatever comes over the wire, and in whatever pieces: the events are the same, in order, and nothing crashes."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from piolet.llm.errors import LlmError
from piolet.llm.events import AssistantEvent, DoneEvent, ErrorEvent, StartEvent
from piolet.llm.model import StreamOptions
from piolet.llm.protocols import protocol_for
from piolet.llm.transport import parse_record
from tests.conformance.cases.area_stream import pieces
from tests.conformance.cassettes import check_order
from tests.llm.wire import ask, model_at

CASES = Path(__file__).parents[1] / "data" / "cases" / "stream.json"
RECORDINGS = Path(__file__).parents[3] / "shared" / "cassettes"


def bodies() -> dict[str, tuple[str, bytes]]:
    """Return api and body of every stream that is at hand, by name."""
    found: dict[str, tuple[str, bytes]] = {}
    for case in json.loads(CASES.read_text()):
        if chunks := case["input"].get("chunks"):
            body = b"".join(piece for chunk in chunks for piece in pieces(chunk))
            found[case["id"]] = (case["setup"]["api"], body)
    for path in sorted(RECORDINGS.rglob("*.json")):
        recording = json.loads(path.read_text())
        response = recording["response"]
        if recording["streaming"]:
            text = response.get("body_text")
            body = text.encode() if text is not None else base64.b64decode(response["body_base64"])
            found[path.stem] = (recording["api"], body)
    return {name: stream for name, stream in found.items() if spoken(stream[0])}


def spoken(api: str) -> bool:
    try:
        return bool(protocol_for(api))
    except LlmError:
        return False


STREAMS = bodies()


def events_of(api: str, pieces: list[bytes]) -> list[AssistantEvent]:
    """Return the events of a body that comes in `pieces`, as the transport makes them."""
    protocol = protocol_for(api)
    builder = protocol.builder(model_at("http://x", api), ask(), StreamOptions())
    framing = protocol.framing()
    events: list[AssistantEvent] = [StartEvent()]
    try:
        for frames in (*(framing.feed(piece) for piece in pieces), framing.end()):
            for frame in frames:
                if frame.data.strip() != "[DONE]" and not builder.ended:
                    events += builder.fold(frame.name, parse_record(frame.data))
        events += builder.finish()
        events.append(builder.done())
    except LlmError as error:
        events += builder.close_all()
        events.append(builder.failed("error", str(error)))
    check_order(events)
    return events


def comparable(events: list[AssistantEvent]) -> list[AssistantEvent]:
    """Return `events` without times and made-up ids."""
    last = events[-1]
    assert isinstance(last, DoneEvent | ErrorEvent)
    message = last.message if isinstance(last, DoneEvent) else last.error
    message = replace(message, timestamp=0, duration_ms=0)
    ended = replace(last, message=message) if isinstance(last, DoneEvent) else replace(last, error=message)
    return [*events[:-1], ended]


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_each_byte_alone_gives_the_same_events(name: str) -> None:
    api, body = STREAMS[name]
    whole = comparable(events_of(api, [body]))
    assert comparable(events_of(api, [bytes([byte]) for byte in body])) == whole


@given(st.sampled_from(sorted(STREAMS)), st.lists(st.floats(0, 1), max_size=12))
def test_any_cutting_gives_the_same_events(name: str, cuts: list[float]) -> None:
    api, body = STREAMS[name]
    places = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
    parts = [body[start:stop] for start, stop in pairwise(places)]
    assert comparable(events_of(api, parts)) == comparable(events_of(api, [body]))


@given(st.sampled_from(sorted(STREAMS)), st.floats(0, 1))
def test_a_stream_that_is_cut_off_ends_in_order(name: str, cut: float) -> None:
    api, body = STREAMS[name]
    events_of(api, [body[: int(cut * len(body))]])


ODD = st.sampled_from([None, True, -1, 1.5, "", "text", [], [None], {}, {"x": None}, [[]], {"type": 7}])


@st.composite
def damaged(draw: st.DrawFn, value: Any, depth: int = 0) -> Any:
    """Return a JSON value like `value` in which some parts are something else or missing."""
    if draw(st.integers(0, 12)) == 0:
        return draw(ODD)
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if draw(st.integers(0, 15))}
        return {key: draw(damaged(item, depth + 1)) for key, item in kept.items()}
    if isinstance(value, list):
        return [draw(damaged(item, depth + 1)) for item in value]
    return value


RECORDS: dict[str, list[Any]] = {}
for _name in ("stream-13", "stream-19", "stream-09", "stream-35", "stream-30"):
    _api, _body = STREAMS[_name]
    _frames = list(protocol_for(_api).framing().feed(_body))
    RECORDS[_name] = [json.loads(frame.data) for frame in _frames if frame.data.startswith("{")]


@given(st.data(), st.sampled_from(sorted(RECORDS)))
def test_records_that_are_not_what_they_should_be_never_crash(data: st.DataObject, name: str) -> None:
    records = [data.draw(damaged(record)) for record in RECORDS[name]]
    body = b"".join(b"data: " + json.dumps(record).encode() + b"\n\n" for record in records)
    for event in events_of(STREAMS[name][0], [body]):
        if isinstance(event, DoneEvent | ErrorEvent):
            message = event.message if isinstance(event, DoneEvent) else event.error
            assert all(isinstance(block.type, str) for block in message.content)
            assert all(isinstance(call.id, str) and isinstance(call.name, str) for call in message.tool_calls)
            assert all(isinstance(call.arguments, dict) for call in message.tool_calls)
