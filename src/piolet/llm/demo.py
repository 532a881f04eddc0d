"""The provider ``demo``: no model, fixed replies. It drives the real loop, tools and session on real files.

Asked to fix a failing test it runs the tests, reads, edits, runs them again and reports; any other prompt gets a look
around. Each reply follows from the conversation alone, and says that it is none of a model.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from piolet.base.abort import Aborted, sleep
from piolet.base.ids import now_ms
from piolet.base.json import dumps
from piolet.llm.events import (
    AssistantEvent,
    DoneEvent,
    ErrorEvent,
    StartEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from piolet.llm.messages import (
    NO_USAGE,
    AssistantMessage,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from piolet.llm.model import Context, Model, ModelCost, StreamOptions
from piolet.llm.stream import AssistantStream

NOTICE = "DEMO: no model, fixed replies."
MODEL = Model(
    id="scripted",
    name="Demo (fixed replies, no model)",
    api="demo",
    provider="demo",
    base_url="",
    reasoning=False,
    input=["text"],
    cost=ModelCost(),
    context_window=128_000,
    max_tokens=8192,
)
TESTS = "python3 -m unittest 2>&1 | tail -n 40"
#: Edits that are tried before the demo gives up.
MOST_TRIES = 12


def stream(model: Model, context: Context, options: StreamOptions) -> AssistantStream:
    """Answer `context`; a `piolet.llm.stream.StreamFunction`."""
    started = now_ms()
    content: list[TextContent | ToolCall] = []

    def message(**fields: Any) -> AssistantMessage:
        pending = AssistantMessage(tuple(content), model.api, model.provider, model.id, NO_USAGE, "pending", started)
        return structs.replace(pending, **fields)

    async def events() -> AsyncGenerator[AssistantEvent, None]:
        try:
            reply = next_reply(context.messages)
            yield StartEvent()
            text = f"{NOTICE} {reply.text}"
            content.append(TextContent(""))
            yield TextStart(0)
            for word in re.findall(r"\S+\s*", text):
                await sleep(0, options.signal)
                content[0] = TextContent(content[0].text + word) if isinstance(content[0], TextContent) else content[0]
                yield TextDelta(0, word)
            yield TextEnd(0, text)
            for index, call in enumerate(reply.calls, 1):
                content.append(call)
                yield ToolCallStart(index, call.id, call.name)
                yield ToolCallDelta(index, dumps(call.arguments))
                yield ToolCallEnd(index, call)
            reason = "toolUse" if reply.calls else "stop"
            yield DoneEvent(reason, message(stop_reason=reason, duration_ms=now_ms() - started))  # type: ignore[arg-type]
        except Aborted:
            text = "Request was aborted"
            yield ErrorEvent("aborted", message(stop_reason="aborted", error_message=text))

    return AssistantStream(events(), message)


class Reply(Struct, frozen=True):
    text: str
    calls: Sequence[ToolCall] = ()


def next_reply(messages: Sequence[Message]) -> Reply:
    """Return what the script says next. Pure."""
    start = max((i for i, message in enumerate(messages) if isinstance(message, UserMessage)), default=0)
    run = _Run(messages[start:])
    if re.search(r"\btests?\b", run.prompt) and re.search(r"\b(fix|fail\w*|repair)\b", run.prompt):
        return _fix_test(run)
    return _look_around(run)


class _Run:
    """The conversation since the last prompt."""

    def __init__(self, messages: Sequence[Message]) -> None:
        first = messages[0] if messages else None
        self.prompt = text_of(first.content).lower() if isinstance(first, UserMessage) else ""
        self.results = [message for message in messages if isinstance(message, ToolResultMessage)]
        self.calls = [call for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]
        self.turn = sum(isinstance(message, AssistantMessage) for message in messages)

    def call(self, name: str, **arguments: Any) -> ToolCall:
        return ToolCall(f"demo_{self.turn}_{name}", name, arguments)

    def last(self, name: str) -> str:
        """The text of the last result of the tool `name`."""
        return next((text_of(r.content) for r in reversed(self.results) if r.tool_name == name), "")

    def read(self, path: str) -> str | None:
        for call, result in zip(self.calls, self.results, strict=False):
            if call.name == "read" and call.arguments.get("path") == path:
                return text_of(result.content)
        return None

    @property
    def edits(self) -> list[dict[str, Any]]:
        return [call.arguments for call in self.calls if call.name == "edit"]


def _look_around(run: _Run) -> Reply:
    if run.turn == 0:
        return Reply("I look at what is here.", [run.call("bash", command="ls -a")])
    names = run.last("bash").split()
    readable = [name for name in names if re.search(r"\.(md|txt|toml|py)$", name)]
    readable.sort(key=lambda name: not name.lower().startswith("readme"))
    if run.turn == 1 and readable:
        return Reply(f"I read {readable[0]}.", [run.call("read", path=readable[0], limit=20)])
    here = ", ".join(name for name in names if name not in (".", "..")) or "nothing"
    return Reply(f"In this folder: {here}. A real model would now answer you; choose one with --model.")


def _fix_test(run: _Run) -> Reply:
    output = run.last("bash")
    if run.turn == 0:
        return Reply("I run the tests.", [run.call("bash", command=TESTS)])
    if re.search(r"^OK\b", output, re.MULTILINE) and run.calls[-1].name == "bash":
        changed = f" What I changed: {run.edits[-1]['path']}, {_shown(run.edits)}." if run.edits else ""
        return Reply(f"All tests pass.{changed}")
    failing = re.search(r'File "[^"]*?([^"/]+\.py)", line \d+, in (test_\w+)\n\s*(.*)', output)
    if run.calls[-1].name == "edit":
        return Reply("I run the tests again.", [run.call("bash", command=TESTS)])
    if failing is None:
        return Reply("I find no failing unittest in this folder, so I change nothing.")
    test_file, _, line = failing.groups()
    test_text = run.read(test_file)
    if test_text is None:
        return Reply(f"A test in {test_file} fails: I read it.", [run.call("read", path=test_file)])
    source = _tested_function(test_text, line)
    if source is None:
        return Reply(f"I cannot tell which function {test_file} tests, so I change nothing.")
    path, name = source
    text = run.read(path)
    if text is None:
        return Reply(f"It tests {name} of {path}: I read that too.", [run.call("read", path=path)])
    tries = list(_candidates(text, name))[:MOST_TRIES]
    done = len(run.edits)
    before = run.edits[-1]["edits"][0] if run.edits else None
    if done < len(tries):
        original, changed = tries[done]
        edits = [{"oldText": original, "newText": changed}]
        if before is not None:
            undone = {"oldText": before["newText"], "newText": tries[done - 1][0]}
            edits = [undone, *edits] if original != tries[done - 1][0] else [{**undone, "newText": changed}]
        return Reply(f"I change {name}.", [run.call("edit", path=path, edits=edits)])
    return Reply(f"None of my {done} fixed ideas makes the test pass; the last one is still in {path}.")


def _tested_function(test_text: str, line: str) -> tuple[str, str] | None:
    """Return the file and name of the first imported function that the failing line calls."""
    for module, names in re.findall(r"^from ([\w.]+) import ([\w, ]+)$", test_text, re.MULTILINE):
        for name in re.split(r"\s*,\s*", names):
            if re.search(rf"\b{name}\(", line):
                return module.replace(".", "/") + ".py", name
    return None


def _candidates(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield lines of the function `name` with one thing changed: a number, or an operator."""
    body = re.search(rf"^def {name}\(.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    in_text = False
    for line in body[0].splitlines()[1:] if body else ():
        quotes = line.count('"""')
        if in_text or quotes:
            in_text = in_text != (quotes == 1)
            continue
        if text.count(line) != 1:
            continue
        for number in re.finditer(r"\b\d+\b", line):
            for value in (int(number[0]) * 10, int(number[0]) + 1, int(number[0]) - 1):
                yield line, line[: number.start()] + str(value) + line[number.end() :]
        for old, new in (("-", "+"), ("+", "-"), ("*", "/"), ("/", "*"), ("<", "<="), (">", ">=")):
            for found in re.finditer(rf" {re.escape(old)} ", line):
                yield line, f"{line[: found.start()]} {new} {line[found.end() :]}"


def _shown(edits: Sequence[dict[str, Any]]) -> str:
    original = edits[-1]["edits"][-1]["oldText"]
    for edit in reversed(edits[:-1]):
        if edit["edits"][-1]["newText"] == original:
            original = edit["edits"][-1]["oldText"]
    return f"`{original.strip()}` became `{edits[-1]['edits'][-1]['newText'].strip()}`"
