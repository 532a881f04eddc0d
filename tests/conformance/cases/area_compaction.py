"""Cases about compaction: when, where the cut is, and what a session is like around it."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piolet.harness.compaction.cut import Projected, find_cut_point
from piolet.harness.compaction.estimate import estimate_context, message_tokens
from piolet.harness.compaction.files import FileOperations
from piolet.harness.compaction.serialize import serialize_conversation
from piolet.harness.compaction.settings import CompactionSettings, should_compact
from piolet.harness.messages import AgentMessage, convert_to_llm
from piolet.harness.normalize import normalize_message
from piolet.harness.session.entries import Entry
from piolet.harness.session.session import Session
from tests.conformance.outcome import Skip, equal
from tests.support.replies import OPENAI_USAGE, openai
from tests.support.rpc import RpcClient, rpc
from tests.support.run import Place
from tests.support.server import Reply, Request, ScriptedServer

Case = Mapping[str, Any]

LONG = "word " * 800  # 1,000 tokens by estimate


def check_case(case: Case) -> None:
    given, expected = case["input"], case["expected"]
    if "function" in given:
        function = FUNCTIONS.get(given["function"])
        if function is None:
            raise Skip(f"nothing here does {given['function']!r}")
        function(given, expected)
        return
    check = RUNS.get(given.get("run", ""))
    if check is None or expected.get("property") not in PROPERTIES:
        raise Skip(f"nothing here checks {given.get('run')!r}: {expected.get('property')!r}")
    check(case)


# --------------------------------------------------------------------------------------------------------- functions


def _should_compact(given: Case, expected: Case) -> None:
    results = [
        should_compact(tokens, window, CompactionSettings(enabled, reserve))
        for tokens, window, enabled, reserve in given["rows"]
    ]
    equal(results, expected["result"])


def _messages(given: Case) -> list[AgentMessage]:
    return [normalize_message(message, 0) for message in given["messages"]]


def _estimate(given: Case, expected: Case) -> None:
    equal([message_tokens(message) for message in _messages(given)], expected["result"])


def _context_tokens(given: Case, expected: Case) -> None:
    equal(estimate_context(_messages(given)).tokens, expected["result"])


def _serialize(given: Case, expected: Case) -> None:
    text = serialize_conversation(convert_to_llm(_messages(given)))
    if "result" in expected or "text" in expected:
        equal(text, expected.get("result", expected.get("text")))
    for piece in expected.get("text_contains", ()):
        assert piece in text, f"{piece!r} not in {text!r}"
    for piece in expected.get("text_not_contains", ()):
        assert piece not in text, f"{piece!r} in {text!r}"
    if "max_chars" in expected:
        assert len(text) <= expected["max_chars"], f"{len(text)} characters"


def _cut_point(given: Case, expected: Case) -> None:
    entries = _entries(given["entries"])
    cut = find_cut_point(Projected.of(entries), given["keep"])
    equal(entries[cut.index].id, expected["first_kept"])
    if "split_turn" in expected:
        equal(cut.is_split, expected["split_turn"])


def _entries(raw: Sequence[Mapping[str, Any]]) -> list[Entry]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.jsonl"
        header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": folder}
        file.write_text("".join(json.dumps(line) + "\n" for line in [header, *raw]))
        with Session.open(str(file), read_only=True) as session:
            return session.entries


def _file_lists(given: Case, expected: Case) -> None:
    calls = [
        {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": {"path": path}}
        for number, (name, path) in enumerate(given["calls"])
    ]
    operations = FileOperations()
    operations.add_messages([normalize_message({"role": "assistant", "content": [call]}, 0) for call in calls])
    details = operations.details()
    equal({"read": details["readFiles"], "modified": details["modifiedFiles"]}, dict(expected))


FUNCTIONS: Mapping[str, Callable[[Case, Case], None]] = {
    "should_compact": _should_compact,
    "estimate_tokens": _estimate,
    "context_tokens": _context_tokens,
    "find_cut_point": _cut_point,
    "serialize": _serialize,
    "file_lists": _file_lists,
}


# ------------------------------------------------------------------------------------------------------ whole program


@contextmanager
def _session(
    case: Case, answer: Callable[[Request], Reply], *argv: str
) -> Iterator[tuple[RpcClient, ScriptedServer, Place]]:
    """A client of RPC mode; requests for a summary are answered as the case says, others by `answer`."""
    setup = case["setup"]

    def reply(request: Request) -> Reply:
        if not _asks_for_summary(request):
            return answer(request)
        text = setup.get("summary_text", "A short summary of it all.")
        return {**openai(text), "delay_ms": 1000 * setup.get("summary_delay_s", 0)}

    with tempfile.TemporaryDirectory() as folder, ScriptedServer(reply) as server:
        place = Place.below(Path(folder))
        model = {"id": "m", "contextWindow": setup.get("context_window", 100_000), "maxTokens": 1000}
        place.write_models(server.url, models=[model])
        compaction = {"reserveTokens": setup.get("reserve", 1000), "keepRecentTokens": 200}
        place.write_settings({"compaction": compaction})
        with rpc(place, "--model", "stub/m", *argv) as client:
            yield client, server, place


def _asks_for_summary(request: Request) -> bool:
    """Requests of the conversation offer tools; those for a summary do not."""
    return not request.body.get("tools")


def _answer(text: str, usage: dict[str, Any] = OPENAI_USAGE) -> Callable[[Request], Reply]:
    return lambda request: openai(text, usage=usage)


def _lines(place: Place) -> list[Any]:
    return [json.loads(line) for path in place.sessions() for line in path.read_text().splitlines()]


def _compactions(place: Place) -> int:
    return sum(line["type"] == "compaction" for line in _lines(place))


def _without_usage(case: Case) -> None:
    with _session(case, lambda request: openai("w " * 8000, usage={})) as (client, _, _place):
        client.prompt("one")
        client.prompt("two")
        assert client.events("compaction_start"), "no compaction started"


def _old_usage(case: Case) -> None:
    usages = iter([9000, 300, 300])

    def answer(request: Request) -> Reply:
        tokens = next(usages)
        return openai(LONG, usage={"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens})

    with _session(case, answer) as (client, server, place):
        client.prompt("first question")
        client.prompt("0123456789")
        client.close()
        equal(_compactions(place), 1)
        equal([_asks_for_summary(request) for request in server.requests].count(False), 2)


def _empty_summary(case: Case) -> None:
    with _session(case, _answer(LONG)) as (client, _, place):
        client.prompt("one")
        client.prompt("two")
        before = client.data("get_messages")
        response = client.request("compact")
        assert not response["success"], response
        assert response["error"], "no error shown"
        equal(client.data("get_messages"), before)
        client.close()
        equal(_compactions(place), 0)


def _nothing_to_summarize(case: Case) -> None:
    with _session(case, _answer("Yes.")) as (client, server, place):
        client.prompt("one")
        asked = len(server.requests)
        response = client.request("compact")
        assert not response["success"], response
        assert response["error"], "the user was not told"
        equal(len(server.requests), asked)
        client.close()
        equal(_compactions(place), 0)


def _full_window(case: Case) -> None:
    prompt = "s " * (2 * case["setup"]["system_prompt_tokens"])
    with _session(case, _answer("Yes."), "--system-prompt", prompt) as (client, _, _place):
        for number in range(3):
            start = len(client.records)
            client.prompt(f"question {number}")
            ended = [record for record in client.records[start:] if record.get("type") == "compaction_start"]
            assert len(ended) <= 1, f"{len(ended)} compactions in one turn"


def _typed_meanwhile(case: Case) -> None:
    with _session(case, _answer(LONG)) as (client, _, place):
        client.prompt("one")
        client.prompt("two")
        compacting = client.send("compact")
        client.wait(type="compaction_start")
        start = len(client.records)
        equal(client.request("prompt", message="later")["data"], {"disposition": "queued"})
        assert client.response(compacting)["success"]
        client.wait(start, type="agent_settled")
        client.close()
        texts = [json.dumps(line) for line in _lines(place)]
        places = [index for index, text in enumerate(texts) if '"later"' in text]
        equal(len(places), 1)
        compaction = next(index for index, text in enumerate(texts) if '"type": "compaction"' in text)
        assert places[0] > compaction, "it stands before the compaction"


def _stopped(case: Case) -> None:
    with _session(case, _answer(LONG)) as (client, _, place):
        client.prompt("one")
        client.prompt("two")
        compacting = client.send("compact")
        client.wait(type="compaction_start")
        time.sleep(1)
        client.request("abort")
        assert not client.response(compacting)["success"]
        equal(client.prompt("three")["stopReason"], "stop")
        client.close()
        equal(_compactions(place), 0)


PROPERTIES = {
    "compaction starts before or after the second answer",
    "exactly one compaction entry; the next request goes out without another",
    "no compaction entry written, error shown, messages unchanged",
    "no request is sent; the user is told",
    "no more than one compaction per user turn",
    "'later' appears exactly once in the session, after the compaction entry",
    "no compaction entry; prompt is answered",
}


def _compact_now(case: Case) -> None:
    (_nothing_to_summarize if "messages" in case["setup"] else _empty_summary)(case)


RUNS: Mapping[str, Callable[[Case], None]] = {
    "prompt, answer of 16000 characters, second prompt": _without_usage,
    "answer reports 9000 tokens; compaction; next prompt of 10 characters": _old_usage,
    "/compact": _compact_now,
    "three prompts": _full_window,
    "rpc: compact, then prompt 'later' before it ends": _typed_meanwhile,
    "rpc: compact, abort after 1 s, prompt": _stopped,
}
