"""The RPC mode: reads lines, starts each command at once, writes responses and events (the RPC specification)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from piolet.app.runtime import Runtime
from piolet.app.wire import to_wire
from piolet.base.json import loads
from piolet.harness.events import AgentSettled, HarnessEvent
from piolet.harness.hooks import HookFailure
from piolet.harness.session.errors import SessionError
from piolet.modes.output import Output
from piolet.modes.rpc.commands import Command, CommandFailed, Commands
from piolet.modes.rpc.lines import InputLines
from piolet.modes.rpc.ui import RpcUI
from piolet.modes.say import complain, failure_teller
from piolet.modes.signals import Signals

#: Seconds that the session has to end in order after a signal: clients kill after one second.
LAST_SECONDS = 0.7
#: Seconds that commands under way have to answer when the input has ended.
_LAST_ANSWERS = 2.0
#: Commands that wait for a model or a program.
_LONG = frozenset({"prompt", "steer", "follow_up", "bash", "compact"})


async def run_rpc(runtime: Runtime) -> int:
    """Serve standard input until it ends; return the exit code. Disposes of `runtime`."""
    output = Output(on_broken=lambda: serving.cancel())
    server = _Server(runtime, output)
    serving = asyncio.ensure_future(server.serve())
    server.end = serving.cancel

    def interrupt() -> None:
        runtime.interrupt()
        serving.cancel()

    with Signals(interrupt, serving.cancel, LAST_SECONDS) as signals:
        with suppress(asyncio.CancelledError):
            await serving
        server.stop_events()
        if signals.exit_code is None:
            await server.finish_commands()
            await runtime.dispose()
            await output.flush()
        else:
            output.close()
            await signals.leave(runtime.dispose())
    return 0


class _Server:
    def __init__(self, runtime: Runtime, output: Output) -> None:
        self._runtime = runtime
        self._output = output
        self._ui = RpcUI(output)
        self._commands = Commands(runtime, self._bash_output)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe = runtime.subscribe(self._event)
        self._to_stderr = failure_teller(verbose=runtime.options.verbose)
        #: Ends the serving.
        self.end: Any = None
        runtime.bind(self._ui)
        runtime.on_failure = self._failure
        runtime.on_shutdown = self._end_if_asked
        self._starting = asyncio.ensure_future(runtime.start())

    async def serve(self) -> None:
        async for line in InputLines():
            task = asyncio.create_task(self._line(line))
            self._tasks.add(task)
            task.add_done_callback(self._done)
            await asyncio.sleep(0)  # ordinary commands answer in the order in which they came
            await self._output.room()  # who does not read is not listened to

    def stop_events(self) -> None:
        """Tell nothing more of what happens in the session; nobody answers questions any more."""
        self._unsubscribe()
        self._ui.close()

    async def finish_commands(self) -> None:
        """Let commands that are soon over answer; drop those that wait for a model or a program."""
        quick = [task for task in self._tasks if task.get_name() not in _LONG]
        if quick:
            await asyncio.wait(quick, timeout=_LAST_ANSWERS)
        for task in self._tasks:
            task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._end_if_asked()

    def _end_if_asked(self) -> None:
        """End if an extension asked for it and nothing is under way: no command, no run."""
        if self._runtime.shutdown_requested and not self._tasks and self._runtime.session.harness.operation is None:
            self.end()

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
            self._ui.answer(fields)
            return
        await asyncio.wait([self._starting])  # its dialogs are answered meanwhile
        head["command"] = name
        if (task := asyncio.current_task()) is not None:
            task.set_name(name)
        handler = self._commands.handlers.get(name)
        if handler is None:
            await self._respond(head, error=f"Unknown command: {name}")
            return
        await self._run(handler, head, fields)

    async def _run(self, handler: Command, head: dict[str, Any], fields: dict[str, Any]) -> None:
        answered = False

        async def answer(data: Any = ..., error: str | None = None) -> None:
            nonlocal answered
            if not answered:
                answered = True
                await self._respond(head, data, error)

        try:
            await answer(await handler(fields, answer))
        except CommandFailed as error:
            if answered and isinstance(error.__cause__, SessionError):
                complain(str(error))  # no event tells that the session could not be written
            await answer(error=str(error))
        except Exception as error:
            await answer(error=f"Internal error: {type(error).__name__}: {error}")
            context = {"message": f"The command {head['command']} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

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
        if isinstance(event, AgentSettled):
            asyncio.get_running_loop().call_soon(self._end_if_asked)

    async def _bash_output(self, id: Any, delta: str) -> None:
        head = {} if id is ... else {"id": id}
        await self._output.record({"type": "bash_execution_update", **head, "delta": delta})

    def _failure(self, failure: HookFailure) -> None:
        if failure.error is None or self._runtime.options.verbose:
            self._to_stderr(failure)
        if failure.error is not None:
            self._output.put(
                {
                    "type": "extension_error",
                    "extensionPath": str(failure.owner),
                    "event": failure.hook,
                    "error": str(failure.error),
                }
            )
