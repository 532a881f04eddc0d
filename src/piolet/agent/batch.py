"""The tool calls of one answer: asked about one after another, run together, answered in call order."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from piolet.agent.arguments import InvalidArguments, check, prepare
from piolet.agent.events import AgentEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from piolet.agent.tools import AgentTool, ToolResult
from piolet.base.abort import AbortSignal
from piolet.base.ids import now_ms
from piolet.llm.messages import AssistantMessage, ToolCall, ToolResultMessage

#: Seconds that a tool has after an abort before its task is cancelled, and then to take the cancellation.
GRACE, LAST_GRACE = 2.0, 1.0

ABORTED = "Operation aborted"
CUT_OFF = "Not run: the answer reached its output limit before it was complete. Send the call again, with less in it."


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call about to run. `arguments` is its own copy and may be changed in place."""

    message: AssistantMessage
    call: ToolCall
    tool: AgentTool
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
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


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Results in call order. `terminate`: every result asked to end the run."""

    results: Sequence[ToolResultMessage]
    terminate: bool


async def run_batch(
    message: AssistantMessage,
    tools: Sequence[AgentTool],
    config: BatchConfig,
    emit: Callable[[AgentEvent], Awaitable[None]],
) -> BatchOutcome:
    """Answer every call of `message`. Never raises for what tools and callbacks do."""
    calls = message.tool_calls
    by_name = {tool.name: tool for tool in tools}
    asked_for = {by_name[call.name].execution_mode for call in calls if call.name in by_name}
    sequential = config.tool_execution == "sequential" or "sequential" in asked_for
    batch = _Batch(message, by_name, config, emit)
    for group in [[call] for call in calls] if sequential else [calls]:
        await batch.run(group)
    results = [batch.results[id(call)] for call in calls]
    return BatchOutcome(
        [_result_message(call, result, duration) for call, (result, duration) in zip(calls, results, strict=True)],
        all(result.terminate for result, _ in results),
    )


class _Batch:
    def __init__(
        self,
        message: AssistantMessage,
        tools: dict[str, AgentTool],
        config: BatchConfig,
        emit: Callable[[AgentEvent], Awaitable[None]],
    ) -> None:
        self.message = message
        self.tools = tools
        self.config = config
        self.emit = emit
        self.results: dict[int, tuple[ToolResult, int]] = {}

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Ask about each call, then run them together; emit what they report, from this task."""
        reports = _Reports()
        started: dict[int, float] = {}
        tasks: list[asyncio.Task[None]] = []
        ready: list[tuple[ToolCall, PendingCall | ToolResult]] = []
        for call in calls:
            started[id(call)] = time.monotonic()
            await self.emit(ToolExecutionStart(call.id, call.name, call.arguments))
            ready.append((call, await self._ask(call)))
        try:
            for call, pending in ready:
                if isinstance(pending, ToolResult):
                    reports.finish(call, pending)
                else:
                    tasks.append(asyncio.create_task(self._execute(pending, reports), name=f"tool {call.name}"))
            for _ in range(len(calls)):
                await self._relay_until_end(reports, started)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _relay_until_end(self, reports: _Reports, started: dict[int, float]) -> None:
        """Emit updates as they come, up to and including the end of one call."""
        while True:
            call, result, ended = await reports.next()
            if ended:
                duration = round((time.monotonic() - started[id(call)]) * 1000)
                self.results[id(call)] = (result, duration)
                await self.emit(ToolExecutionEnd(call.id, call.name, result, result.is_error, duration))
                return
            await self.emit(ToolExecutionUpdate(call.id, call.name, call.arguments, result))

    async def _ask(self, call: ToolCall) -> PendingCall | ToolResult:
        """Return the call ready to run, or the error that answers it."""
        tool = self.tools.get(call.name)
        if tool is None:
            return _error(f"Tool {call.name} not found")
        if self.message.stop_reason == "length":
            return _error(CUT_OFF)
        if self.config.signal.aborted:
            return _error(ABORTED)
        try:
            arguments = prepare(tool, call)
            pending = PendingCall(self.message, call, tool, arguments)
            if self.config.before_tool_call is None:
                return pending
            before = copy.deepcopy(arguments)
            block = await self.config.before_tool_call(pending)
            if block is not None:
                return ToolResult.of_text(block.reason, details={}, is_error=True, terminate=block.terminate)
            if arguments != before:
                check(tool, arguments)
        except InvalidArguments as error:
            return _error(str(error))
        except Exception as error:
            return _error(f"Tool call blocked: {error or type(error).__name__}")
        return _error(ABORTED) if self.config.signal.aborted else pending

    async def _execute(self, pending: PendingCall, reports: _Reports) -> None:
        call, signal = pending.call, self.config.signal
        try:
            result = await _with_grace(
                pending.tool.execute(call.id, pending.arguments, signal, reports.updater(call)), signal
            )
        except Exception as error:
            result = _error(str(error) or type(error).__name__)
        if self.config.after_tool_call is not None:
            try:
                result = await self.config.after_tool_call(pending, result) or result
            except Exception as error:
                result = _error(f"The result was withheld, because a hook on it failed: {error}")
        reports.finish(call, result)


class _Reports:
    """What the tools of a batch tell the loop's task: the newest partial result of each call, and its end."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[ToolCall, ToolResult | None]] = asyncio.Queue()
        self._newest: dict[int, ToolResult] = {}
        self._finished: set[int] = set()

    def updater(self, call: ToolCall) -> Callable[[ToolResult], None]:
        """Return the `on_update` of `call`: sync, for any thread; what comes faster than it is read is coalesced."""

        def update(result: ToolResult) -> None:
            try:
                here = asyncio.get_running_loop() is self._loop
            except RuntimeError:
                here = False
            if here:
                self._update(call, result)
            else:
                self._loop.call_soon_threadsafe(self._update, call, result)

        return update

    def _update(self, call: ToolCall, result: ToolResult) -> None:
        if id(call) in self._finished:
            return
        if id(call) not in self._newest:
            self._queue.put_nowait((call, None))
        self._newest[id(call)] = result

    def finish(self, call: ToolCall, result: ToolResult) -> None:
        self._finished.add(id(call))
        self._queue.put_nowait((call, result))

    async def next(self) -> tuple[ToolCall, ToolResult, bool]:
        call, result = await self._queue.get()
        if result is not None:
            return call, result, True
        return call, self._newest.pop(id(call)), False


async def _with_grace(work: Awaitable[ToolResult], signal: AbortSignal) -> ToolResult:
    """Await `work`; after an abort it has `GRACE` seconds, then it is cancelled, and at last left behind."""
    task = asyncio.ensure_future(work)
    aborted = asyncio.Event()
    remove = signal.on_abort(aborted.set)
    waiter = asyncio.create_task(aborted.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=GRACE)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=LAST_GRACE)
        if not task.done() or task.cancelled():
            return _error(ABORTED)
        return task.result()
    finally:
        remove()
        waiter.cancel()
        task.cancel()


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
