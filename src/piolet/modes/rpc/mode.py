"""The RPC mode: reads lines, starts each command at once, writes responses and events (the RPC specification)."""

from __future__ import annotations

import asyncio
from typing import Any

from piolet.app.runtime import Runtime
from piolet.app.wire import to_wire
from piolet.base.json import loads
from piolet.harness.events import HarnessEvent
from piolet.harness.hooks import HookFailure
from piolet.modes.output import Output
from piolet.modes.rpc.commands import Command, CommandFailed, Commands
from piolet.modes.rpc.lines import InputLines
from piolet.modes.signals import Signals

#: Seconds that the session has to end in order after a signal: clients kill after one second.
LAST_SECONDS = 0.8


async def run_rpc(runtime: Runtime) -> int:
    """Serve standard input until it ends; return the exit code. Disposes of `runtime`."""
    server = _Server(runtime)
    serving = asyncio.ensure_future(server.serve())

    def interrupt() -> None:
        runtime.interrupt()
        serving.cancel()

    with Signals(interrupt, serving.cancel) as signals:
        try:
            await serving
        except asyncio.CancelledError:
            if signals.exit_code is None:
                raise
        except BrokenPipeError:
            pass  # nobody reads any more: end as if the input had ended
        finally:
            server.silence()
            if signals.exit_code is None:
                await runtime.dispose()
            else:
                async with asyncio.timeout(LAST_SECONDS):
                    await runtime.dispose()
    return signals.exit_code or 0


class _Server:
    def __init__(self, runtime: Runtime) -> None:
        self._output = Output()
        self._commands = Commands(runtime, self._bash_output)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe = runtime.subscribe(self._event)
        runtime.on_failure = self._failure

    async def serve(self) -> None:
        async for line in InputLines():
            task = asyncio.create_task(self._line(line))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.sleep(0)  # ordinary commands answer in the order in which they came

    def silence(self) -> None:
        """Write nothing more."""
        self._unsubscribe()
        for task in self._tasks:
            task.cancel()

    async def _line(self, line: bytes) -> None:
        try:
            value = loads(line)
        except ValueError as error:
            await self._respond({"command": "parse"}, error=f"Failed to parse command: {error}")
            return
        fields = value if isinstance(value, dict) else {}
        head = {"id": fields["id"]} if "id" in fields else {}
        name = fields.get("type")
        if not isinstance(name, str):
            await self._respond(head, error="Unknown command: undefined")
            return
        if name == "extension_ui_response":
            return
        head["command"] = name
        handler = self._commands.handlers.get(name)
        if handler is None:
            await self._respond(head, error=f"Unknown command: {name}")
            return
        await self._run(handler, head, fields)

    async def _run(self, handler: Command, head: dict[str, Any], fields: dict[str, Any]) -> None:
        answered = False

        async def answer(data: Any = ...) -> None:
            nonlocal answered
            answered = True
            await self._respond(head, data)

        try:
            data = await handler(fields, answer)
        except CommandFailed as error:
            if not answered:
                await self._respond(head, error=str(error))
        else:
            if not answered:
                await self._respond(head, data)

    async def _respond(self, head: dict[str, Any], data: Any = ..., error: str | None = None) -> None:
        record: dict[str, Any] = {}
        if "id" in head:
            record["id"] = head["id"]
        record["type"] = "response"
        if "command" in head:
            record["command"] = head["command"]
        record["success"] = error is None
        if error is not None:
            record["error"] = error
        elif data is not ...:
            record["data"] = data
        await self._output.record(record)

    async def _event(self, event: HarnessEvent) -> None:
        record = to_wire(event)
        if record is not None:
            await self._output.record(record)

    async def _bash_output(self, id: Any, delta: str) -> None:
        head = {} if id is ... else {"id": id}
        await self._output.record({"type": "bash_execution_update", **head, "delta": delta})

    def _failure(self, failure: HookFailure) -> None:
        if failure.error is None:
            return
        record = {
            "type": "extension_error",
            "extensionPath": str(failure.owner),
            "event": failure.hook,
            "error": str(failure.error),
        }
        task = asyncio.ensure_future(self._output.record(record))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
