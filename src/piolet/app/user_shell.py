"""The commands that the user runs in between (``!command``), where the tools act."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from piolet.app.hook_points import BashResult
from piolet.app.prompt import PromptRejected
from piolet.app.services import Services
from piolet.base.abort import AbortController
from piolet.base.ids import now_ms
from piolet.harness.environments.base import Environment
from piolet.harness.messages import BashExecutionMessage
from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.shell_command import run_shell_command

#: Seconds in which what a command writes is told of in one piece.
TOGETHER = 0.03
#: Characters that may wait to be told of before the command has to wait.
MOST_WAITING = 256 * 1024


class UserShell:
    """Runs commands beside each other. `services` gives those in use."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._running: set[AbortController] = set()

    async def run(
        self,
        command: str,
        environment: Environment | None,
        *,
        exclude: bool,
        on_output: Callable[[str], Awaitable[None]] | None,
    ) -> BashExecutionMessage:
        """Run `command`, in the session's environment unless another is given; `on_output` is told what is new in its
        output. Raises `PromptRejected`."""
        controller = AbortController()
        self._running.add(controller)
        services = self._services()
        prefix = services.settings.shell_command_prefix
        teller = _Teller(on_output) if on_output is not None else None
        try:
            outcome = await run_shell_command(
                environment or services.environment,
                f"{prefix}\n{command}" if prefix else command,
                shell_path=services.settings.shell_path,
                signal=controller.signal,
                on_text=teller.add if teller else None,
            )
        except ToolError as error:
            raise PromptRejected(str(error)) from None
        finally:
            self._running.discard(controller)
            if teller is not None:
                await teller.finish()
        status, truncation = outcome.status, outcome.progress.truncation
        return BashExecutionMessage(
            command=command,
            output=truncation.content,
            cancelled=status.aborted,
            truncated=truncation.truncated,
            timestamp=now_ms(),
            exit_code=None if status.aborted else status.code,
            full_output_path=outcome.progress.full_output_path,
            exclude_from_context=True if exclude else None,
        )

    def abort(self) -> None:
        """Kill the commands that are running."""
        for controller in tuple(self._running):
            controller.abort()


def executed(command: str, result: BashResult, *, exclude: bool) -> BashExecutionMessage:
    """Return the message of a command that somebody else ran."""
    return BashExecutionMessage(
        command=command,
        output=result.output,
        cancelled=result.cancelled,
        truncated=result.truncated,
        timestamp=now_ms(),
        exit_code=result.exit_code,
        full_output_path=result.full_output_path,
        exclude_from_context=True if exclude else None,
    )


class _Teller:
    """Tells of output in pieces that are worth telling of."""

    def __init__(self, tell: Callable[[str], Awaitable[None]]) -> None:
        self._tell = tell
        self._waiting: list[str] = []
        self._size = 0
        self._telling: asyncio.Task[None] | None = None

    async def add(self, text: str) -> None:
        self._waiting.append(text)
        self._size += len(text)
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell_soon())
        if self._size > MOST_WAITING:
            await self._telling

    async def finish(self) -> None:
        """Return when everything is told."""
        if self._telling is not None:
            await self._telling

    async def _tell_soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(TOGETHER)
            text = "".join(self._waiting)
            self._waiting, self._size = [], 0
            await self._tell(text)
        self._telling = None
