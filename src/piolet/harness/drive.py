"""``Drive``: from a prompt until nothing more happens by itself. Run, recover, settle: one loop that decides.

A run of the harness may hold several agent runs: after each, the last answer decides whether the request is tried
again, or the messages that came meanwhile are delivered, or the run settles.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from piolet.agent.agent import NothingToContinue
from piolet.agent.events import AgentEnd, AgentEvent, MessageEnd, MessageUpdate, TurnEnd
from piolet.agent.guard import reason_of
from piolet.agent.loop import NextTurn, Turn
from piolet.base.abort import Aborted, AbortSignal, sleep
from piolet.harness.drafts import ContextEditDraft
from piolet.harness.errors import PromptFailed
from piolet.harness.events import AgentSettled, AutoRetryEnd, AutoRetryStart, CompactionReason, CompactionResult
from piolet.harness.hook_points import (
    AGENT_BEFORE_SETTLE,
    BEFORE_AGENT_START,
    TURN_END,
    BeforeAgentStart,
    BeforeSettleEvent,
    Outcome,
    TurnEndEvent,
)
from piolet.harness.messages import CustomMessage
from piolet.harness.prompt.records import PromptInputs, editable
from piolet.harness.retry import GiveUp, Retry, next_try
from piolet.harness.session.errors import InvalidEntry, SessionError
from piolet.llm.messages import AssistantMessage, BaseMessage, UserMessage
from piolet.llm.overflow import is_overflow, is_recoverable_length

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness


#: Types of entries that give the model something.
_IN_CONTEXT = ("message", "custom_message", "branch_summary", "compaction")


class RunResult(Struct, frozen=True):
    """What a run gave: its new messages, and the last answer (None if there is none)."""

    messages: Sequence[BaseMessage]
    final: AssistantMessage | None
    outcome: Outcome

    @property
    def text(self) -> str:
        """The text of the last answer."""
        return self.final.text if self.final else ""


class Drive:
    """The variables of one run of `harness`."""

    def __init__(self, harness: AgentHarness, signal: AbortSignal) -> None:
        self._harness = harness
        self._signal = signal
        self._attempts = 0
        self._retry: Retry | GiveUp | None = None
        self._last: AssistantMessage | None = None
        self._one_more = False
        self._new: list[BaseMessage] = []
        self._recovered = False
        self._cramped = False
        self._replaced_prompt: str | None = None
        self._appended: Sequence[str] = ()

    async def run(self, prompts: Sequence[BaseMessage]) -> RunResult:
        """Run to the end; without `prompts`, go on from the context as it is.

        Raises `SessionError` if the session could not take a message, `PromptFailed`; the run is settled then.
        """
        harness = self._harness
        try:
            inputs = await self._build_prompt()
            await self._compact_if_due()
            if prompts:
                prompts = await self._begin(prompts, inputs)
            elif not self._queued:
                await self._drop_failed_answers()
            await self._agent_run(prompts)
            while await self._recovers() or await self._goes_on():
                await self._build_prompt()
                await self._agent_run(())
        except BaseException:
            harness.context.invalidate()  # what is stored may not have reached the agent
            raise
        finally:
            with harness.recorder.recording():
                await harness.appender.flush_idle()
            harness.recorder.forget()
            failure = harness.recorder.failure
            harness.release()
            await harness.publish(AgentSettled(self._outcome == "aborted"), self._signal)
        if failure is not None:
            raise failure
        return RunResult(tuple(self._new), self._last, self._outcome)

    # ---- beginning

    async def _begin(self, prompts: Sequence[BaseMessage], inputs: PromptInputs) -> Sequence[BaseMessage]:
        """Store the prompt and what waited for it, then ask the hooks; return all messages that the run starts with."""
        harness = self._harness
        prompts = [await self._store_first(prompt) for prompt in prompts]
        for waiting in harness.agent.take_next_turn():
            try:
                prompts.append(await self._store_first(waiting))
            except SessionError as error:
                harness.recorder.fail(error)
                harness.agent.next_turn(waiting)
        if not harness.hooks.wanted(BEFORE_AGENT_START):
            return prompts
        inputs = editable(inputs)
        event = BeforeAgentStart(prompts[0], inputs)
        event = await harness.hooks.run(BEFORE_AGENT_START, event, self._signal)
        self._replaced_prompt, self._appended = event.replaced_prompt, event.appended
        if event.system_prompt_options != replace(inputs, append=[*inputs.append, *event.appended]):
            self._replaced_prompt = event.system_prompt
        await self._build_prompt()
        return [*prompts, *(draft.message() for draft in event.messages)]

    async def _store_first(self, message: BaseMessage) -> BaseMessage:
        """Store a message before the run takes it up; return it as the hooks left it. Raises `SessionError`."""
        message = await self._harness.bridge.finalize_message(message)
        self._harness.recorder.store(message)
        return message

    async def _build_prompt(self) -> PromptInputs:
        harness = self._harness
        try:
            text, inputs = await harness.build_prompt(self._appended)
        except Exception as error:
            raise PromptFailed(f"The system prompt could not be built: {reason_of(error)}") from error
        harness.agent.system_prompt = text if self._replaced_prompt is None else self._replaced_prompt
        return inputs

    # ---- one agent run

    async def _agent_run(self, prompts: Sequence[BaseMessage]) -> None:
        agent, anyway = self._harness.agent, self._one_more
        self._retry, self._one_more = None, False
        if prompts:
            self._new += await agent.prompt(prompts, signal=self._signal)
        else:
            with suppress(NothingToContinue):
                self._new += await agent.continue_(signal=self._signal, anyway=anyway)

    async def prepare_next_turn(self, turn: Turn) -> NextTurn | None:
        """Between two turns: the prompt is built again, since its inputs may have changed, and room is made."""
        self._one_more = False
        await self._build_prompt()
        self._harness.context.refresh()
        compactor = self._harness.compactor
        if not self._cramped and compactor.is_due_between_turns():
            await self._compact("threshold")
            self._cramped = compactor.is_due_between_turns()  # then it would not help to do it at each turn
        return None

    def should_stop(self, turn: Turn) -> bool:
        """An answer that found the window full ends the agent run: recovery comes first. Calls that were cut off have
        their results by now, which tell the model to try again."""
        return not turn.tool_results and self._overflowed(turn.message) is not None

    async def on_agent_event(self, event: AgentEvent) -> None:
        """Store what is final, decide what follows, then tell."""
        harness = self._harness
        match event:
            case MessageUpdate() if not harness.session.saved:
                with harness.recorder.recording():
                    harness.session.begin()
            case MessageEnd(message=message):
                await self._store(message)
                self._note(message)
            case TurnEnd():
                await self._end_turn(event)
            case AgentEnd():
                self._retry = self._decide()
                event = replace(event, will_retry=isinstance(self._retry, Retry))
            case _:
                pass
        await harness.publish(event)
        if isinstance(event, MessageEnd) and self._attempts and _answered(event.message):
            await harness.publish(AutoRetryEnd(True, self._attempts))
            self._attempts = 0

    async def _store(self, message: BaseMessage) -> None:
        """Store a message of the run. One from a queue that the session cannot take now goes back into it."""
        try:
            self._harness.recorder.store(message)
        except SessionError as error:
            self._harness.recorder.fail(error)
            if isinstance(message, UserMessage | CustomMessage) and not isinstance(error, InvalidEntry):
                await self._harness.agent.steer(message)

    async def _end_turn(self, event: TurnEnd) -> None:
        harness = self._harness
        await harness.appender.flush_turn()
        if not harness.hooks.wanted(TURN_END):
            return
        harness.context.refresh()
        ids = [harness.recorder.entry_id(result) for result in event.tool_results]
        asked = TurnEndEvent(
            event.turn_index,
            event.message,
            event.tool_results,
            harness.recorder.entry_id(event.message),
            [entry_id for entry_id in ids if entry_id],
            harness.agent.messages,
            outcome=_outcome(event.message),
        )
        asked = await harness.hooks.run(TURN_END, asked, self._signal)
        await harness.appender.append_checked(TURN_END.name, asked.entries)
        self._one_more = asked.continue_

    # ---- recovering

    def _decide(self) -> Retry | GiveUp | None:
        if self._last is None or self._signal.aborted or is_overflow(self._last, self._harness.model.context_window):
            return None
        return next_try(self._harness.retry, self._last, self._attempts, self._harness.asked_wait_ms)

    async def _recovers(self) -> bool:
        """Whether another agent run makes good what failed in the last one; what it needs is done here."""
        await self._end_retries()
        last = self._last
        if last is None or self._signal.aborted:
            return False
        if overflow := self._overflowed(last):
            return await self._recover(last, answered=overflow == "answered")
        if isinstance(self._retry, Retry):
            return await self._wait_for(self._retry, last)
        if last.stop_reason != "aborted":
            await self._compact_if_due()
        return False

    async def _end_retries(self) -> None:
        """Tell that the retries are over, unless one more follows."""
        if isinstance(self._retry, GiveUp):
            await self._harness.publish(AutoRetryEnd(False, self._attempts, self._retry.why))
        elif self._attempts and self._retry is None and self._last is not None:
            await self._harness.publish(AutoRetryEnd(False, self._attempts, self._last.error_message))
        else:
            return
        self._attempts = 0

    async def _wait_for(self, retry: Retry, failed: AssistantMessage) -> bool:
        harness = self._harness
        self._attempts = retry.attempt
        await harness.publish(
            AutoRetryStart(retry.attempt, harness.retry.max_retries, retry.delay_ms, failed.error_message or "")
        )
        await self._drop(failed)
        try:
            with harness.retry_wait(self._signal) as signal:
                await sleep(retry.delay_ms / 1000, signal)
        except Aborted:
            self._attempts = 0
            await harness.publish(AutoRetryEnd(False, retry.attempt, "Retry cancelled"))
            return False
        return True

    def _overflowed(self, message: AssistantMessage) -> Literal["answered", "failed"] | None:
        """How `message` shows that the window was full; None if it does not. Only the present model's word counts."""
        model = self._harness.model
        if (message.provider, message.model) != (model.provider, model.id) or not self._harness.auto_compaction:
            return None
        if is_overflow(message, model.context_window):
            return "answered" if message.stop_reason == "stop" else "failed"
        return "failed" if is_recoverable_length(message, model.max_tokens) else None

    async def _recover(self, message: AssistantMessage, *, answered: bool) -> bool:
        """Compact; then ask again, once, unless the question was answered all the same."""
        if answered:
            await self._compact("overflow")
            return False
        if self._recovered:
            await self._harness.compactor.gave_up()
            return False
        self._recovered = True
        await self._drop(message)
        return await self._compact("overflow", will_retry=True) is not None

    async def _drop(self, message: AssistantMessage) -> None:
        """Take a failed answer and the results of its calls out of the context; the record keeps them."""
        recorder = self._harness.recorder
        ids = [recorder.entry_id(message), *(recorder.result_id(call.id) for call in message.tool_calls)]
        await self._omit([entry_id for entry_id in ids if entry_id is not None])

    async def _drop_failed_answers(self) -> None:
        """Take failed answers at the end out of the context, so that the model has something to answer."""
        session = self._harness.session
        if not is_failed(*self._harness.agent.messages[-1:]):
            return
        omitted: set[str | None] = set()
        failed = []
        for head in reversed(session.path_heads()):
            if head.type == "context_edit":
                omitted.add(head.link)
            elif head.id in omitted or head.type not in _IN_CONTEXT:
                continue
            elif head.role == "assistant" and is_failed(getattr(session.entry(head), "message", None)):
                failed.append(head.id)
            else:
                break
        await self._omit(failed)

    async def _omit(self, ids: Sequence[str]) -> None:
        await self._harness.appender.append_all([ContextEditDraft(entry_id) for entry_id in ids])
        self._harness.context.refresh()

    async def _compact_if_due(self) -> None:
        self._harness.context.refresh()
        if self._harness.compactor.is_due():
            await self._compact("threshold")

    async def _compact(self, reason: CompactionReason, *, will_retry: bool = False) -> CompactionResult | None:
        """Compact by itself; None if there was nothing to do or it failed."""
        try:
            return await self._harness.compactor.compact(reason, self._signal, will_retry=will_retry)
        except SessionError as error:
            self._harness.recorder.fail(error)
            return None

    # ---- settling

    async def _goes_on(self) -> bool:
        """Whether the run goes on although nothing failed, or settles: handlers are asked, what waited is appended."""
        harness = self._harness
        if harness.hooks.wanted(AGENT_BEFORE_SETTLE) and harness.recorder.failure is None:
            event = BeforeSettleEvent(self._outcome, harness.agent.messages)
            event = await harness.hooks.run(AGENT_BEFORE_SETTLE, event, self._signal)
            await harness.appender.append_checked(AGENT_BEFORE_SETTLE.name, event.entries)
            self._one_more = self._one_more or event.continue_
        if not self._one_more and not self._queued:
            await harness.appender.flush_idle()
        harness.context.refresh()
        delivers = self._queued and self._outcome == "completed"
        return not self._signal.aborted and (self._one_more or delivers)

    @property
    def _queued(self) -> bool:
        """Whether messages came while the agent was not looking."""
        return bool(self._harness.agent.steering or self._harness.agent.follow_ups)

    def _note(self, message: BaseMessage) -> None:
        """Remember the last answer; a new question or a whole answer allows another recovery."""
        if isinstance(message, AssistantMessage):
            self._last = message
            if message.stop_reason not in ("error", "length"):
                self._recovered = False
        elif isinstance(message, UserMessage):
            self._recovered = False

    @property
    def _outcome(self) -> Outcome:
        return "aborted" if self._signal.aborted else _outcome(self._last)


def last_answer(messages: Sequence[BaseMessage]) -> AssistantMessage | None:
    """Return the newest answer among `messages`."""
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)


def _answered(message: BaseMessage) -> bool:
    return isinstance(message, AssistantMessage) and not is_failed(message)


def is_failed(message: object = None) -> bool:
    """Whether `message` is an answer that failed or was aborted."""
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted")


def _outcome(message: AssistantMessage | None) -> Outcome:
    match message:
        case AssistantMessage(stop_reason="aborted"):
            return "aborted"
        case AssistantMessage(stop_reason="error"):
            return "error"
        case _:
            return "completed"
