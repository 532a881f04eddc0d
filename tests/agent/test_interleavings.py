"""Whatever happens whenever: the context stays valid, the events nest, and the agent settles.

Time jumps (`tests.support.virtual_time`), so that hours of waiting and every order of timers cost nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from piolet.agent.agent import NothingToContinue
from piolet.agent.batch import Block, PendingCall
from piolet.agent.running import Busy
from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.llm.messages import TextContent, ToolCall, UserMessage, text_of
from tests.agent.conversation import Conversation, check_context, check_events
from tests.support.scripted_model import Reply, ScriptedModel, says
from tests.support.virtual_time import now, run_jumping

#: Seconds; few values, so that things often happen at the same moment.
MOMENTS = st.sampled_from([0, 0.5, 1, 1.5, 2, 3, 5])


@dataclass(frozen=True)
class Act:
    """Something that a user does, `at` seconds after the start."""

    at: float
    what: str


@dataclass(frozen=True)
class Behaviour:
    """What a tool does: waits, then returns or raises; on an abort it ends at once, or does not care."""

    seconds: float
    fails: bool
    listens: bool
    stubborn: bool
    progress: int


@dataclass(frozen=True)
class Trouble:
    """What a callback does when it is asked."""

    seconds: float
    raises: bool


behaviours = st.builds(
    Behaviour, MOMENTS, st.booleans(), st.booleans(), st.sampled_from([False, False, False, True]), st.integers(0, 3)
)
names = st.sampled_from(["a", "b", "sequential", "nosuch"])
acts = st.builds(
    Act, MOMENTS, st.sampled_from(["abort", "steer", "follow_up", "next_turn", "clear", "cancel caller", "prompt"])
)
troubles = st.builds(Trouble, MOMENTS, st.booleans())


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    calls = [
        ToolCall(
            f"c{draw(st.integers(0, 10**9))}", draw(names), draw(st.sampled_from([{}, {"text": "x"}, {"text": []}]))
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    return Reply(
        [TextContent("So."), *calls],
        draw(st.sampled_from(["toolUse", "toolUse", "length"])) if calls else draw(st.sampled_from(["stop", "length"])),
        error=draw(st.sampled_from([None, None, None, "503: overloaded"])),
        delay=draw(MOMENTS),
        pause=draw(st.sampled_from([0, 0.5])),
        hang=draw(st.sampled_from([False, False, False, True])),
        deaf=draw(st.sampled_from([False, False, True])),
        crash=draw(st.sampled_from([None, None, None, None, RuntimeError("crash")])),
    )


def make_tool(name: str, behaviour: Behaviour) -> AgentTool:
    async def execute(id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> ToolResult:
        end = now() + behaviour.seconds
        for number in range(behaviour.progress):
            on_update(ToolResult.of_text(str(number)))
        while now() < end and not (behaviour.listens and signal.aborted):
            try:
                await asyncio.sleep(min(0.5, end - now()))
            except asyncio.CancelledError:
                if not behaviour.stubborn:
                    raise
        if behaviour.fails:
            raise RuntimeError("failed")
        return ToolResult.of_text("fine")

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    mode: Any = "sequential" if name == "sequential" else None
    return AgentTool(name, "", schema, execute, execution_mode=mode)


def make_callback(trouble: Trouble, value: Any) -> Any:
    async def callback(*args: Any) -> Any:
        await asyncio.sleep(trouble.seconds)
        if trouble.raises:
            raise RuntimeError("trouble")
        return value(*args)

    return callback


def block_some(pending: PendingCall) -> Block | None:
    return Block("no") if pending.call.name == "b" else None


CALLBACKS: dict[str, Any] = {
    "before_tool_call": block_some,
    "after_tool_call": lambda pending, result: None,
    "transform_context": lambda messages: messages,
    "finalize_message": lambda message: message,
    "prepare_next_turn": lambda turn: None,
    "should_stop_after_turn": lambda turn: False,
    "get_steering_messages": lambda: (),
    "get_follow_up_messages": lambda: (),
}


class User:
    """Acts upon a conversation; remembers what became of every message that was queued."""

    def __init__(self, talk: Conversation) -> None:
        self.talk = talk
        self.caller: asyncio.Task[Any] | None = None
        self.queued: list[str] = []
        self.handed_back: list[str] = []

    async def act(self, what: str) -> None:
        agent = self.talk.agent
        match what:
            case "abort":
                agent.abort()
            case "steer" | "follow_up" | "next_turn":
                text = f"{what} {len(self.queued)}"
                self.queued.append(text)
                told = getattr(agent, what)(text)
                if told is not None:
                    await told
            case "clear":
                cleared = await agent.clear_queue()
                for message in (*cleared.steering, *cleared.follow_up, *cleared.next_turn):
                    self.handed_back.append(text_of(message.content))  # type: ignore[attr-defined]
            case "cancel caller":
                if self.caller is not None:
                    self.caller.cancel()
            case "prompt":
                try:
                    await agent.prompt("me too")
                except Busy:
                    pass


@dataclass(frozen=True)
class Story:
    """All that happens in and around a run. `subscriber`: seconds that one needs for each event."""

    script: list[Reply]
    tools: dict[str, Behaviour]
    todo: list[Act]
    callbacks: dict[str, Trouble]
    subscriber: float
    steering: Any
    follow_ups: Any


modes = st.sampled_from(["all", "one-at-a-time"])
stories = st.builds(
    Story,
    script=st.lists(replies(), min_size=1, max_size=4),
    tools=st.fixed_dictionaries(dict.fromkeys(("a", "b", "sequential"), behaviours)),
    todo=st.lists(acts, max_size=6),
    callbacks=st.dictionaries(st.sampled_from(sorted(CALLBACKS)), troubles, max_size=2),
    subscriber=st.sampled_from([0, 0, 0.5]),
    steering=modes,
    follow_ups=modes,
)


@settings(max_examples=150, deadline=None)
@given(stories)
def test_any_interleaving_leaves_a_valid_context_and_a_settled_agent(story: Story) -> None:
    tell(story)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(max_examples=10_000, deadline=None)
@given(stories)
def test_ten_thousand_interleavings(story: Story) -> None:
    tell(story)


def tell(story: Story) -> None:
    async def scenario() -> None:
        config = {name: make_callback(trouble, CALLBACKS[name]) for name, trouble in story.callbacks.items()}
        model = ScriptedModel(*story.script, last=says("The end."))
        talk = Conversation(model, tools=[make_tool(*one) for one in story.tools.items()], **config)
        talk.agent.steering.mode, talk.agent.follow_ups.mode = story.steering, story.follow_ups
        if story.subscriber:
            talk.agent.subscribe(lambda event: asyncio.sleep(story.subscriber))
        user = User(talk)

        async def call_agent() -> None:
            await talk.agent.prompt("go")

        user.caller = asyncio.create_task(call_agent())
        acting = [asyncio.create_task(later(act.at, user, act.what)) for act in story.todo]
        asyncio.get_running_loop().call_later(1000, talk.agent.abort)  # for what hangs by itself
        await asyncio.gather(user.caller, *acting, return_exceptions=True)
        await talk.agent.wait_idle()
        note("\n".join(talk.lines))

        assert not talk.agent.is_running
        check_events(talk.events)
        check_context(talk.agent.messages)
        for request in model.requests:
            check_context(request.context.messages)
            assert request.context.messages[-1].role in ("user", "toolResult")

        await finish(talk)
        check_context(talk.agent.messages)
        delivered = [text_of(m.content) for m in talk.agent.messages if isinstance(m, UserMessage)]
        waiting = [
            text_of(m.content)  # type: ignore[attr-defined]
            for queue in (talk.agent.steering, talk.agent.follow_ups)
            for m in queue.snapshot()
        ]
        found = [text for text in delivered if text not in ("go", "me too", "finish")] + user.handed_back + waiting
        assert sorted(found) == sorted(user.queued), "a queued message was lost or delivered twice"
        await asyncio.sleep(100)  # tools that were left behind end

    run_jumping(scenario())


async def later(seconds: float, user: User, what: str) -> None:
    await asyncio.sleep(seconds)
    await user.act(what)


async def finish(talk: Conversation) -> None:
    """Let a next run take what is queued."""
    talk.model.replies = []
    talk.agent.config = Conversation(talk.model).agent.config
    try:
        await talk.agent.prompt("finish")
        await talk.agent.continue_()
    except NothingToContinue:
        pass
