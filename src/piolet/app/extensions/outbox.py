"""``Outbox``: what extensions send into the conversation (the extension specification, section 4).

Which way a message goes is decided, and the message put on it, at the moment of the call, so that one that is sent in
the last moment of a run still belongs to it. Only the telling of it, and whole runs, go on by themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal

from piolet.agent.queues import MessageQueue
from piolet.app.agent_session import BUSY, AgentSession, Disposition
from piolet.app.extensions.definitions import DeliverAs
from piolet.app.extensions.results import as_blocks
from piolet.app.hook_points import INPUT, Behavior
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.base.ids import now_ms
from piolet.harness.drafts import CustomDraft, CustomMessageDraft
from piolet.harness.events import AgentSettled, HarnessEvent
from piolet.harness.harness import AgentHarness
from piolet.llm.messages import BaseMessage, ImageContent, TextContent, UserBlock, UserMessage, text_of

if TYPE_CHECKING:
    from piolet.app.extensions.extension import Extension
    from piolet.app.extensions.runner import ExtensionRunner

_WAYS: dict[str | None, Literal["steer", "follow_up", "next_turn"] | None] = {
    None: None,
    "steer": "steer",
    "follow_up": "follow_up",
    "followUp": "follow_up",
    "next_turn": "next_turn",
    "nextTurn": "next_turn",
}


class Outbox:
    """Sends for the extensions of `runner`."""

    def __init__(self, runner: ExtensionRunner) -> None:
        self._runner = runner
        self._held: list[Callable[[], None]] | None = None
        self._starting = 0
        self._work: set[asyncio.Task[Any]] = set()

    # ---- custom messages

    def send(
        self, extension: Extension, draft: CustomMessageDraft, deliver_as: DeliverAs | None, trigger_turn: bool | None
    ) -> None:
        """Send a custom message and return at once."""
        rest = self._place(extension, draft, _way(deliver_as), trigger_turn)
        if rest is not None:
            self.later(extension, "send_message", rest)

    async def deliver(
        self, extension: Extension, draft: CustomMessageDraft, deliver_as: DeliverAs | None, trigger_turn: bool | None
    ) -> None:
        """Send a custom message; return when a run that it started is over."""
        rest = self._place(extension, draft, _way(deliver_as), trigger_turn)
        if rest is not None:
            await rest

    def _place(
        self,
        extension: Extension,
        draft: CustomMessageDraft,
        way: Literal["steer", "follow_up", "next_turn"] | None,
        trigger_turn: bool | None,
    ) -> Awaitable[object] | None:
        """Put the message where it belongs; return what is left to do."""
        session = self._runner.seat(extension, "send_message").session
        harness = session.harness
        if way == "next_turn":
            harness.next_turn(draft.message())
            return None
        waits_for_compaction = harness.is_compacting and bool(trigger_turn)
        if (self._is_streaming(session) and trigger_turn is not False) or waits_for_compaction:
            return self._enqueue(session, draft.message(), "follow_up" if way == "follow_up" else "steer")
        if not trigger_turn:
            _, events = harness.appender.place(draft, "now")
            return _publish(harness, events) if events else None
        if self._held is not None:
            self._held.append(lambda: self.send(extension, draft, "steer", trigger_turn))
            return None
        return session.begin_run(draft.message())

    def append_entry(self, extension: Extension, session: AgentSession, custom_type: str, data: Any) -> str:
        """Store an entry that the model never sees; return its id."""
        entry_id, events = session.harness.appender.place(CustomDraft(custom_type, data), "now")
        self.later(extension, "append_entry", _publish(session.harness, events))
        assert entry_id is not None, "state never waits"
        return entry_id

    # ---- prompts

    def send_user(
        self,
        extension: Extension,
        content: str | Sequence[UserBlock],
        deliver_as: Literal["steer", "follow_up", "followUp"] | None,
        *,
        expand: bool,
    ) -> None:
        """Send a prompt and return at once. RuntimeError during a run if it is not said how to queue it."""
        session = self._runner.seat(extension, "send_user_message").session
        behavior = _behavior(deliver_as)
        prompt = _prompt(content)
        if self._held is not None:
            self._held.append(lambda: self._send_user(extension, session, prompt, behavior or "follow_up", expand))
        else:
            self._send_user(extension, session, prompt, behavior, expand)

    async def deliver_user(
        self,
        extension: Extension,
        content: str | Sequence[UserBlock],
        deliver_as: Literal["steer", "follow_up", "followUp"] | None,
        *,
        expand: bool,
    ) -> None:
        """Send a prompt; return when a run that it started is over."""
        session = self._runner.seat(extension, "send_user_message").session
        await session.prompt(_prompt(content), behavior=_behavior(deliver_as), source="extension", expand=expand)

    def _send_user(
        self, extension: Extension, session: AgentSession, prompt: UserPrompt, behavior: Behavior | None, expand: bool
    ) -> None:
        if self._is_streaming(session):
            if behavior is None:
                raise RuntimeError(f"{BUSY} (deliver_as='steer' or 'follow_up')")
            if not expand and not session.harness.hooks.wanted(INPUT):
                message = UserMessage([TextContent(prompt.text), *prompt.images], now_ms())
                self.later(extension, "send_user_message", self._enqueue(session, message, behavior))
                return
        self.later(extension, "send_user_message", self._prompt(session, prompt, behavior, expand))

    def _prompt(
        self, session: AgentSession, prompt: UserPrompt, behavior: Behavior | None, expand: bool
    ) -> Coroutine[Any, Any, None]:
        """Count as streaming from now on, until the prompt is accepted or refused."""
        self._starting += 1
        waiting = True

        async def accepted(disposition: Disposition) -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                self._starting -= 1

        async def work() -> None:
            try:
                await session.prompt(prompt, behavior=behavior, source="extension", on_accepted=accepted, expand=expand)
            finally:
                await accepted("handled")

        return work()

    # ---- the moment in which a run has settled

    def hold(self, event: object) -> None:
        """From now on keep what would start a run: the handlers of ``agent_settled`` are being told."""
        self._held = []

    def release(self, event: HarnessEvent) -> None:
        """All have been told that the run has settled: send what was kept."""
        if isinstance(event, AgentSettled) and self._held is not None:
            held, self._held = self._held, None
            for send in held:
                send()

    # ---- waiting

    async def wait(self) -> bool:
        """Wait for what was sent to arrive, runs included; return whether there was anything to wait for."""
        work = {task for task in self._work if task is not asyncio.current_task()}
        if work:
            await asyncio.wait(work)
        return bool(work)

    def later(self, extension: Extension, what: str, rest: Awaitable[object]) -> None:
        """Finish something by itself, and let those who wait for idleness wait for it."""
        task = self._runner.later(extension, what, rest)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _is_streaming(self, session: AgentSession) -> bool:
        return session.is_streaming or self._starting > 0

    def _enqueue(self, session: AgentSession, message: BaseMessage, behavior: Behavior) -> Awaitable[object]:
        agent = session.harness.agent
        queue: MessageQueue = agent.steering if behavior == "steer" else agent.follow_ups
        queue.put(message)
        return agent.announce_queues()


async def _publish(harness: AgentHarness, events: Sequence[HarnessEvent]) -> None:
    for event in events:
        await harness.publish(event)


def _way(deliver_as: str | None) -> Literal["steer", "follow_up", "next_turn"] | None:
    if deliver_as not in _WAYS:
        raise ValueError(f"deliver_as is steer, follow_up or next_turn, not {deliver_as!r}")
    return _WAYS[deliver_as]


def _behavior(deliver_as: str | None) -> Behavior | None:
    way = _way(deliver_as)
    if way == "next_turn":
        raise ValueError("A user message is delivered as steer or follow_up")
    return way


def _prompt(content: str | Sequence[UserBlock]) -> UserPrompt:
    blocks = as_blocks(content)
    images = [] if isinstance(blocks, str) else [block for block in blocks if isinstance(block, ImageContent)]
    text = text_of(blocks, "\n")
    if not text.strip() and not images:
        raise PromptRejected("A message without text and images cannot be sent")
    return UserPrompt(text, images)
