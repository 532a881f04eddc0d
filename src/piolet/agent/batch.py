"""The tool calls of one answer: asked about one after another, run together, answered in call order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from piolet.agent.arguments import check, prepare
from piolet.agent.events import AgentEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from piolet.agent.guard import GRACE, LAST_GRACE, guarded, reason_of
from piolet.agent.reports import Reports
from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import Aborted, AbortSignal
from piolet.base.ids import now_ms
from piolet.llm.messages import AssistantMessage, ImageContent, OpaqueBlock, TextContent, ToolCall, ToolResultMessage

ABORTED = "Operation aborted"
CUT_OFF = "Not run: the answer reached its output limit before it was complete. Send the call again, with less in it."


class PendingCall(Struct, frozen=True):
    """A call about to run. `arguments` is its own copy and may be changed in place."""

    message: AssistantMessage
    call: ToolCall
    tool: AgentTool
    arguments: dict[str, Any]


class Block(Struct, frozen=True):
    """Refuses a call: the model gets `reason` as an error result."""

    reason: str = "Tool call blocked"
    terminate: bool = False


BeforeToolCall: TypeAlias = Callable[[PendingCall], Awaitable[Block | None]]
AfterToolCall: TypeAlias = Callable[[PendingCall, ToolResult], Awaitable[ToolResult | None]]


class BatchConfig(Protocol):
    """The part of the loop's config that a batch needs."""

    @property
    def signal(self) -> AbortSignal: ...
    @property
    def tool_execution(self) -> str: ...
    @property
    def before_tool_call(self) -> BeforeToolCall | None: ...
    @property
    def after_tool_call(self) -> AfterToolCall | None: ...


class BatchOutcome(Struct, frozen=True):
    """Results in call order. `terminate`: every result asked to end the run."""

    results: Sequence[ToolResultMessage]
    terminate: bool


async def run_batch(
    message: AssistantMessage,
    tools: Sequence[AgentTool],
    config: BatchConfig,
    emit: Callable[[AgentEvent], Awaitable[None]],
    add: Callable[[ToolResultMessage], Awaitable[ToolResultMessage]],
) -> BatchOutcome:
    """Answer every call of `message`; `add` takes results into the context. Raises only what `emit` and `add` raise.

    A call that is refused ends before the next one is asked about; those that may run end in the order of completion.
    Results are added in call order, all behind the batch; where calls run one after another, each behind its call.
    """
    batch = _Batch(message, {tool.name: tool for tool in tools}, config, emit)
    added = []
    for group in batch.groups():
        await batch.run(group)
        added += [await add(_result_message(batch.calls[index], *batch.results[index])) for index in group]
    return BatchOutcome(added, all(result.terminate for result, _ in batch.results.values()))


class _Batch:
    """The calls of one answer, known by their index."""

    def __init__(
        self,
        message: AssistantMessage,
        tools: dict[str, AgentTool],
        config: BatchConfig,
        emit: Callable[[AgentEvent], Awaitable[None]],
    ) -> None:
        self.message = message
        self.calls = message.tool_calls
        self.tools = tools
        self.config = config
        self.emit = emit
        self.started: dict[int, float] = {}
        self.ended: dict[int, float] = {}
        self.results: dict[int, tuple[ToolResult, int]] = {}

    def groups(self) -> Sequence[Sequence[int]]:
        """The calls that go together: all, or each by itself. Calls that will all be refused are not a batch."""
        every = range(len(self.calls))
        asked_for = {self.tools[call.name].execution_mode for call in self.calls if call.name in self.tools}
        one_by_one = self.config.tool_execution == "sequential" or "sequential" in asked_for
        return [[index] for index in every] if one_by_one or self.message.stop_reason == "length" else [every]

    async def run(self, group: Sequence[int]) -> None:
        """Ask about each call, then run those that may run together; emit what they report, from this task."""
        ready: dict[int, PendingCall] = {}
        for index in group:
            call = self.calls[index]
            self.started[index] = time.monotonic()
            await self.emit(ToolExecutionStart(call.id, call.name, call.arguments))
            asked = await self._ask(call)
            if isinstance(asked, ToolResult):
                await self._end(index, asked)
            else:
                ready[index] = asked
        reports = Reports(ready)
        tasks = [
            asyncio.create_task(self._execute(index, pending, reports), name=f"tool {pending.call.name}")
            for index, pending in ready.items()
        ]
        with self._leaving_behind(reports):
            try:
                while (report := await reports.next()) is not None:
                    await self._tell(*report)
            except BaseException:
                await _cancel(tasks)
                raise

    async def _tell(self, index: int, result: ToolResult, ended: bool) -> None:
        call = self.calls[index]
        if ended:
            await self._end(index, result)
        else:
            await self.emit(ToolExecutionUpdate(call.id, call.name, call.arguments, result))

    async def _end(self, index: int, result: ToolResult) -> None:
        call = self.calls[index]
        duration = round((self.ended.get(index, time.monotonic()) - self.started[index]) * 1000)
        self.results[index] = (result, duration)
        await self.emit(ToolExecutionEnd(call.id, call.name, result, result.is_error, duration))

    async def _ask(self, call: ToolCall) -> PendingCall | ToolResult:
        """Return the call ready to run, or the error that answers it."""
        tool, signal = self.tools.get(call.name), self.config.signal
        if tool is None:
            return _error(f"Tool {call.name} not found")
        if self.message.stop_reason == "length":
            return _error(CUT_OFF)
        if signal.aborted:
            return _error(ABORTED)
        try:
            pending = PendingCall(self.message, call, tool, prepare(tool, call))
            if self.config.before_tool_call is None:
                return pending
            try:
                block = await guarded(self.config.before_tool_call(pending), signal)
            except Exception as error:
                return _error(ABORTED if signal.aborted else f"Tool call blocked: {reason_of(error)}")
            if block is not None:
                return ToolResult.of_text(block.reason, details={}, is_error=True, terminate=block.terminate)
            pending = replace(pending, arguments=check(tool, pending.arguments))
        except Exception as error:  # the arguments do not fit, or the tool's own preparation of them failed
            return _error(reason_of(error))
        return _error(ABORTED) if signal.aborted else pending

    async def _execute(self, index: int, pending: PendingCall, reports: Reports) -> None:
        """Run one call to its end. After an abort the tool and the callback on its result have one grace together."""
        result = _error("The tool was cancelled")  # by itself, or by somebody who had no right to
        try:
            result = await guarded(self._call(pending, reports.updater(index)), self.config.signal)
        except Exception as error:
            result = _failure(error)
        finally:
            self.ended[index] = time.monotonic()
            reports.finish(index, result)

    async def _call(self, pending: PendingCall, on_update: OnUpdate) -> ToolResult:
        call, signal = pending.call, self.config.signal
        try:
            result = _valid(await guarded(pending.tool.execute(call.id, pending.arguments, signal, on_update), None))
        except Exception as error:
            result = _failure(error)
        if self.config.after_tool_call is None:
            return result
        try:
            return _valid(await guarded(self.config.after_tool_call(pending, result), None) or result)
        except Exception as error:
            return _error(f"The result was withheld, because a hook on it failed: {reason_of(error)}")

    @contextmanager
    def _leaving_behind(self, reports: Reports) -> Iterator[None]:
        """Answer calls that take neither the abort nor the cancellation; their tasks are left to themselves."""
        loop = asyncio.get_running_loop()
        timers: list[asyncio.TimerHandle] = []

        def set_timer() -> None:
            timers.append(loop.call_later(GRACE + LAST_GRACE, reports.finish_all, _error(ABORTED)))

        remove = self.config.signal.on_abort(set_timer)
        try:
            yield
        finally:
            remove()
            for timer in timers:
                timer.cancel()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=LAST_GRACE)


def _valid(result: object) -> ToolResult:
    """Return `result`, which others made; raise if it is not one."""
    if not isinstance(result, ToolResult):
        raise TypeError(f"The tool gave {type(result).__name__} instead of a ToolResult")
    if not all(isinstance(block, TextContent | ImageContent | OpaqueBlock) for block in result.content):
        raise TypeError("The content of a ToolResult is a list of text and image blocks")
    return result


def _failure(error: Exception) -> ToolResult:
    return _error(ABORTED if isinstance(error, Aborted) else reason_of(error))


def _error(text: str) -> ToolResult:
    return ToolResult.of_text(text, details={}, is_error=True)


def _result_message(call: ToolCall, result: ToolResult, duration_ms: int) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=list(result.content),
        is_error=result.is_error,
        timestamp=now_ms(),
        details=result.details,
        usage=result.usage,
        duration_ms=duration_ms,
    )
