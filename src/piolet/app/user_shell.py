"""The commands that the user runs in between (``!command``): one at a time, where the tools act."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from piolet.app.prompt import PromptRejected
from piolet.app.services import Services
from piolet.base.abort import AbortController
from piolet.base.ids import now_ms
from piolet.harness.messages import BashExecutionMessage
from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.shell_command import run_shell_command


class UserShell:
    """Runs at most one command at a time."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._controller: AbortController | None = None

    async def run(
        self, command: str, *, exclude: bool, on_output: Callable[[str], Awaitable[None]] | None
    ) -> BashExecutionMessage:
        """Run `command`; `on_output` is told what is new in its output. Raises `PromptRejected`."""
        if self._controller is not None:
            raise PromptRejected("A command is already running; wait for its end or abort it")
        self._controller = controller = AbortController()
        services = self._services()
        prefix = services.settings.shell_command_prefix
        try:
            outcome = await run_shell_command(
                services.environment,
                f"{prefix}\n{command}" if prefix else command,
                shell_path=services.settings.shell_path,
                signal=controller.signal,
                on_text=on_output,
            )
        except ToolError as error:
            raise PromptRejected(str(error)) from None
        finally:
            self._controller = None
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
        """Kill the command that is running, if any."""
        if self._controller is not None:
            self._controller.abort()
