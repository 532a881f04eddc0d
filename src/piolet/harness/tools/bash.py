"""The bash tool: run a shell command, show the tail of what it writes. Source: the tools specification, section 3."""

from __future__ import annotations

import math
from typing import Any, Final

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.base.json import dumps
from piolet.harness.environments.base import Environment
from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.options import DEFAULT_OPTIONS, ShellSpawn, ToolOptions
from piolet.harness.tools.shell_command import ShellOutcome, ShellProgress, run_shell_command
from piolet.harness.tools.truncate import MAX_BYTES, MAX_LINES, format_size
from piolet.llm.messages import TextContent

#: Seconds; the longest time that a 32-bit number of milliseconds holds.
MAX_TIMEOUT: Final = 2_147_483.647

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Command line for bash"},
        "timeout": {"type": "number", "description": "Seconds after which it is killed (default: never)"},
    },
    "required": ["command"],
}


def create_bash_tool(environment: Environment, options: ToolOptions = DEFAULT_OPTIONS) -> AgentTool:
    """Return the tool ``bash`` that runs commands in `environment`."""

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
        timeout = _checked_timeout(arguments.get("timeout"))
        on_update(ToolResult([]))
        spawn = _spawn(environment, arguments["command"], options)
        outcome = await run_shell_command(
            environment,
            spawn.command,
            shell_path=options.shell_path(),
            cwd=spawn.cwd,
            env=spawn.env,
            timeout=timeout,
            signal=signal,
            on_progress=lambda progress: on_update(_update(progress)),
        )
        return _result(outcome, timeout)

    return AgentTool(
        name="bash",
        label="bash",
        description=(
            "Run a command with bash in the working directory and get its output (stdout and stderr together). "
            f"Long output is cut to its last {MAX_LINES} lines or {MAX_BYTES // 1024} KB, whichever is less; all of it "
            "is then in a file that the result names. There is no input and no terminal. Processes left in the "
            "background go on running."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prompt_snippet="Run shell commands (search, list, build, test, git)",
        prompt_guidelines=("Give commands that may hang or wait a timeout.",),
    )


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if not math.isfinite(timeout) or timeout <= 0:
        raise ToolError("Invalid timeout: must be a finite number of seconds")
    if timeout > MAX_TIMEOUT:
        raise ToolError(f"Invalid timeout: maximum is {MAX_TIMEOUT} seconds")
    return timeout


def _spawn(environment: Environment, command: str, options: ToolOptions) -> ShellSpawn:
    prefix = options.command_prefix()
    spawn = ShellSpawn(f"{prefix}\n{command}" if prefix else command, environment.cwd, options.command_variables())
    return options.spawn_hook(spawn) if options.spawn_hook is not None else spawn


def _details(progress: ShellProgress) -> dict[str, Any] | None:
    if not progress.truncation.truncated:
        return None
    return {"truncation": progress.truncation.to_json(), "fullOutputPath": progress.full_output_path}


def _update(progress: ShellProgress) -> ToolResult:
    return ToolResult([TextContent(progress.truncation.content)], _details(progress) or {})


def _result(outcome: ShellOutcome, timeout: float | None) -> ToolResult:
    status, progress = outcome.status, outcome.progress
    text = _shown(progress)
    if status.aborted or status.timed_out:
        line = "Command aborted" if status.aborted else f"Command timed out after {dumps(timeout)} seconds"
        if status.left_running:
            line += (
                f". The shell exited with code {status.code} after {dumps(round(status.seconds))} seconds, "
                "but background processes kept its output open until then."
            )
        raise ToolError(f"{text}\n\n{line}" if text else line)
    structured: dict[str, Any] = {"output": outcome.output, "truncated": outcome.is_output_cut}
    if outcome.is_output_cut:
        structured["full_output_path"] = progress.full_output_path
    structured |= {"exit_code": status.code, "wall_time_seconds": round(outcome.seconds, 1)}
    text = text or "(no output)"
    if status.code != 0:
        text += f"\n\nCommand exited with code {status.code}"
    return ToolResult([TextContent(text)], _details(progress), status.code != 0, structured_content=structured)


def _shown(progress: ShellProgress) -> str:
    """Return the output with the notice of what is missing."""
    cut = progress.truncation
    if not cut.truncated:
        return cut.content
    first = cut.total_lines - cut.output_lines + 1
    if cut.last_line_partial:
        size = format_size(progress.last_line_bytes)
        what = f"last {format_size(cut.output_bytes)} of line {cut.total_lines} (line is {size})"
    else:
        limit = f" ({format_size(cut.max_bytes)} limit)" if cut.truncated_by == "bytes" else ""
        what = f"lines {first}-{cut.total_lines} of {cut.total_lines}{limit}"
    return f"{cut.content}\n\n[Showing {what}. Full output: {progress.full_output_path or 'could not be saved'}]"
