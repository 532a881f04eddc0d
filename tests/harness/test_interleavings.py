"""Whatever happens whenever to a harness: nothing is lost or done twice, session and context agree, and it settles.

Time jumps (`tests.support.virtual_time`), so that hours of waiting and every order of timers cost nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from msgspec import structs

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.compaction import wording
from piolet.harness.compaction.estimate import sum_of_tokens
from piolet.harness.compaction.hook_points import SESSION_BEFORE_COMPACT, SESSION_BEFORE_TREE
from piolet.harness.drafts import CustomDraft, CustomMessageDraft
from piolet.harness.errors import HarnessError
from piolet.harness.hook_points import AGENT_BEFORE_SETTLE, BEFORE_AGENT_START, MESSAGE_END, TOOL_CALL, TURN_END
from piolet.harness.messages import CustomMessage
from piolet.harness.session.entries import CustomEntry, CustomMessageEntry, MessageEntry
from piolet.llm.messages import NO_USAGE, TextContent, ToolCall, UserMessage, text_of
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.stream import AssistantStream
from tests.agent.conversation import check_events
from tests.harness.talk import Harness, check_request, told_message
from tests.support.scripted_model import Reply, ScriptedModel, fails, says
from tests.support.virtual_time import now, run_jumping

WINDOW = 400
#: Seconds; few values, so that things often happen at the same moment.
MOMENTS = st.sampled_from([0, 0.5, 1, 1.5, 2, 3, 5, 8])
SIZES = st.sampled_from([1, 20, 60, 200])


@dataclass(frozen=True)
class Act:
    """Something that somebody does, `at` seconds after the start."""

    at: float
    what: str
    number: int


@dataclass(frozen=True)
class Answer:
    """`size`: tokens of its text and of what its tools give. `calls`: seconds that each of its tools needs."""

    size: int
    calls: Sequence[float]
    delay: float
    trouble: str | None


@dataclass(frozen=True)
class Trouble:
    """What a handler does when it is asked."""

    seconds: float
    raises: bool


@dataclass(frozen=True)
class Story:
    answers: list[Answer]
    summaries: list[Answer]
    acts: list[Act]
    hooks: dict[str, Trouble]
    listener: float


ACTS = ["prompt", "prompt", "steer", "follow_up", "next_turn", "abort", "abort", "compact", "navigate", "navigate"]
ACTS += ["summarize", "clear", "continue", "append", "append idle", "state", "abort retry", "cancel caller"]
TROUBLES = st.sampled_from([None, None, None, None, "503: overloaded", "401: no", "hang", "deaf", "length", "crash"])
HOOKS = {
    hook.name: hook
    for hook in (
        BEFORE_AGENT_START,
        MESSAGE_END,
        TOOL_CALL,
        TURN_END,
        AGENT_BEFORE_SETTLE,
        SESSION_BEFORE_COMPACT,
        SESSION_BEFORE_TREE,
    )
}
answers = st.builds(Answer, SIZES, st.lists(MOMENTS, max_size=3), MOMENTS, TROUBLES)
stories = st.builds(
    Story,
    answers=st.lists(answers, max_size=6),
    summaries=st.lists(st.builds(Answer, SIZES, st.just(()), MOMENTS, TROUBLES), max_size=3),
    acts=st.lists(st.builds(Act, MOMENTS, st.sampled_from(ACTS), st.integers(0, 50)), max_size=9),
    hooks=st.dictionaries(st.sampled_from(sorted(HOOKS)), st.builds(Trouble, MOMENTS, st.booleans()), max_size=2),
    listener=st.sampled_from([0, 0, 0.5]),
)


class WindowedModel:
    """Plays the answers of a story; tells its usage, and refuses what is longer than its window."""

    def __init__(self, story: Story) -> None:
        self.main = ScriptedModel()
        self._answers = {False: list(story.answers), True: list(story.summaries)}
        self._calls = 0

    def stream(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream:
        summary = context.system_prompt == wording.SYSTEM_PROMPT
        used = sum_of_tokens(context.messages)
        if used > WINDOW and not summary:
            reply = fails(f"prompt is too long: {used} tokens > {WINDOW} maximum")
        else:
            answers = self._answers[summary]
            reply = self._reply(answers.pop(0), used) if answers else says("ok", tokens=(used, 1))
        script = ScriptedModel(reply)
        stream = script(model, context, options)
        if not summary:
            self.main.requests += script.requests
        return stream

    def _reply(self, answer: Answer, used: int) -> Reply:
        content: list[Any] = [TextContent("abcd" * answer.size)]
        for seconds in answer.calls:
            self._calls += 1
            content.append(ToolCall(f"c{self._calls}", "wait", {"seconds": seconds, "size": answer.size}))
        usage = structs.replace(NO_USAGE, input=used, output=answer.size, total_tokens=used + answer.size)
        match answer.trouble:
            case "hang" | "deaf":
                return Reply(content, hang=True, deaf=answer.trouble == "deaf", delay=answer.delay)
            case "crash":
                return Reply(content, crash=RuntimeError("crash"), delay=answer.delay)
            case "length":
                return Reply(content, "length", delay=answer.delay, usage=usage)
            case str(error):
                return Reply(content, error=error, delay=answer.delay)
            case _:
                return Reply(content, "toolUse" if answer.calls else "stop", delay=answer.delay, usage=usage)


async def wait_tool(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
    await asyncio.sleep(arguments["seconds"])
    return ToolResult.of_text("abcd" * arguments["size"])


SCHEMA = {"type": "object", "properties": {"seconds": {"type": "number"}, "size": {"type": "integer"}}}
WAIT = AgentTool("wait", "Waits.", SCHEMA, wait_tool)


class User:
    """Acts upon a harness; remembers every text that was taken, and what was handed back."""

    def __init__(self, talk: Harness) -> None:
        self.talk = talk
        self.taken: list[str] = []
        self.handed_back: list[str] = []
        self.prompts: list[str] = []
        self.callers: list[asyncio.Task[Any]] = []

    def take(self, what: str) -> str:
        text = f"{what} {len(self.taken)}"
        self.taken.append(text)
        return text

    async def act(self, act: Act) -> None:
        await asyncio.sleep(act.at)
        try:
            await self._act(act)
        except HarnessError as error:
            note(f"{now()}: {act.what} refused: {error}")

    async def _act(self, act: Act) -> None:
        harness = self.talk.harness
        match act.what:
            case "prompt":
                text = f"prompt {len(self.callers)}"
                self.prompts.append(text)
                if await self._call(harness.prompt(text)):
                    self.taken.append(text)
            case "continue":
                await self._call(harness.continue_())
            case "steer" | "follow_up":
                await getattr(harness, act.what)(self.take(act.what))
            case "next_turn":
                harness.next_turn(self.take(act.what))
            case "abort":
                await harness.abort()
            case "abort retry":
                harness.abort_retry()
            case "compact":
                await self._call(harness.compact())
            case "navigate" | "summarize":
                heads = harness.session.heads
                if heads:
                    target = heads[act.number % len(heads)].id
                    await self._call(harness.navigate_tree(target, summarize=act.what == "summarize"))
            case "clear":
                cleared = await harness.clear_queue()
                for message in (*cleared.steering, *cleared.follow_up, *cleared.next_turn):
                    self.handed_back.append(text_of(message.content))  # type: ignore[attr-defined]
            case "append":
                await harness.append(CustomMessageDraft("note", self.take("note")))
            case "append idle":
                await harness.append(CustomMessage("note", self.take("idle"), True, 0), when="idle")
            case "state":
                await harness.append(CustomDraft("state", self.take("state")))
            case "cancel caller":
                for caller in self.callers:
                    caller.cancel()

    async def _call(self, operation: Any) -> bool:
        """Whether it was carried out."""
        caller = asyncio.create_task(operation)
        self.callers.append(caller)
        await asyncio.gather(caller, return_exceptions=True)
        if caller.cancelled():
            return False
        if (error := caller.exception()) and not isinstance(error, HarnessError):
            raise error
        return error is None


def handler(trouble: Trouble) -> Any:
    async def handle(event: Any) -> None:
        await asyncio.sleep(trouble.seconds)
        if trouble.raises:
            raise RuntimeError("trouble")

    return handle


def check_told(talk: Harness) -> None:
    """Starts and ends pair up: of agent runs, compactions and retries; every run settles."""
    check_events([event for event in talk.events if event.type in AGENT_EVENTS and not _is_note(event)])
    open_compaction = retrying = False
    for event in talk.events:
        match event.type:
            case "compaction_start":
                assert not open_compaction
                open_compaction = True
            case "compaction_end":
                lone = not open_compaction
                assert not lone or "compact-and-retry" in event.error_message
                open_compaction = False
            case "auto_retry_start":
                retrying = True
            case "auto_retry_end":
                assert retrying
                retrying = False
            case "agent_settled":
                assert not open_compaction, "settled within a compaction"
                assert not retrying, "settled within a retry"
    assert not open_compaction


AGENT_EVENTS = {
    *("agent_start", "turn_start", "message_start", "message_update", "message_end", "turn_end", "agent_end"),
    *("tool_execution_start", "tool_execution_update", "tool_execution_end"),
}


def _is_note(event: Any) -> bool:
    return isinstance(getattr(event, "message", None), CustomMessage)


def texts_in(talk: Harness) -> list[str]:
    """Every text that the session holds on any branch."""
    texts = []
    for entry in talk.harness.session.entries:
        match entry:
            case MessageEntry(message=UserMessage(content=content)):
                texts.append(text_of(content))
            case CustomMessageEntry(content=content):
                texts.append(text_of(content))
            case CustomEntry(data=str(data)):
                texts.append(data)
            case _:
                pass
    return texts


@settings(max_examples=150, deadline=None)
@given(stories)
def test_any_interleaving_loses_nothing_and_leaves_a_settled_harness(story: Story) -> None:
    tell(story)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(max_examples=3_000, deadline=None)
@given(stories)
def test_five_thousand_interleavings(story: Story) -> None:
    tell(story)


def tell(story: Story) -> None:
    async def scenario() -> None:
        model = WindowedModel(story)
        talk = Harness(tools=[WAIT], window=WINDOW, keep=60, reserve=100)
        talk.harness._models = model
        for name, trouble in story.hooks.items():
            talk.harness.hooks.on(HOOKS[name].name, handler(trouble))
        if story.listener:
            talk.harness.subscribe(lambda event: asyncio.sleep(story.listener))
        user = User(talk)
        acting = [asyncio.create_task(user.act(act)) for act in [Act(0, "prompt", 0), *story.acts]]
        for moment in (500, 1000, 1500):  # for what hangs by itself
            asyncio.get_running_loop().call_later(moment, talk.harness.request_abort)
        await asyncio.gather(*acting)
        await talk.harness.wait_idle()
        note("\n".join(talk.lines))

        assert talk.harness.operation is None
        assert not talk.harness.is_compacting
        check_told(talk)
        check(talk, model)
        await finish(talk, model, story)
        check(talk, model)
        waiting = [
            text_of(m.content)  # type: ignore[attr-defined]
            for queue in (talk.harness.agent.steering, talk.harness.agent.follow_ups)
            for m in queue.snapshot()
        ]
        found = Counter(texts_in(talk)) + Counter(user.handed_back) + Counter(waiting)
        assert {text: found[text] for text in user.taken} == dict.fromkeys(user.taken, 1), "lost, or there twice"
        assert all(found[text] <= 1 for text in user.prompts)
        await asyncio.sleep(100)  # what was left behind ends

    run_jumping(scenario())


def check(talk: Harness, model: WindowedModel) -> None:
    assert [told_message(message) for message in talk.harness.agent.messages] == talk.stored()
    for request in model.main.requests:
        check_request(request, branches=True)


async def finish(talk: Harness, model: WindowedModel, story: Story) -> None:
    """Let a next run, without any trouble, take what is queued."""
    story.answers.clear()
    model._answers = {False: [], True: []}
    for name in story.hooks:
        talk.harness.hooks._handlers[name].clear()
    await talk.harness.prompt("finish")
    while talk.harness.agent.steering or talk.harness.agent.follow_ups:
        await talk.harness.continue_()
