"""Programs that extensions run, in the environment of the session and without a shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from piolet.app.extensions.definitions import ExecResult
from piolet.base.abort import AbortController, AbortSignal
from piolet.harness.environments.base import Environment

#: Bytes of output, both streams together, after which a program is stopped.
MOST_OUTPUT: Final = 256 * 1024 * 1024
#: Seconds between SIGTERM and SIGKILL.
GRACE: Final = 5.0
_TERMINATED: Final = 143
_CUT: Final = 1


async def run_program(
    environment: Environment,
    command: str,
    args: Sequence[str] = (),
    *,
    cwd: str | None = None,
    timeout: float | None = None,
    signal: AbortSignal | None = None,
    max_buffer: int | None = None,
) -> ExecResult:
    """Run `command` to its end. `timeout` in seconds, `max_buffer` in bytes.

    A program that is missing gives code 1 and the reason in `stderr`; one that died by signal N gives 128 + N; one
    whose output was cut never gives 0.
    """
    most = MOST_OUTPUT if max_buffer is None else max_buffer
    stopper = AbortController(signal)
    outputs: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    truncated = False

    async def take(data: bytes, stream: Literal["stdout", "stderr"]) -> None:
        nonlocal truncated
        room = most - len(outputs["stdout"]) - len(outputs["stderr"])
        outputs[stream] += data[:room]
        if len(data) > room:
            truncated = True
            stopper.abort("too much output")

    try:
        status = await environment.run(
            [command, *args], cwd=cwd, timeout=timeout, signal=stopper.signal, on_output=take, grace=GRACE
        )
    except OSError as error:
        return ExecResult("", f"{command}: {error.strerror or error}", 1, False, False)
    finally:
        stopper.close()
    killed = status.timed_out or status.aborted
    code = status.code if status.code is not None else _TERMINATED
    if not code and (killed or truncated):
        code = _TERMINATED if killed else _CUT
    stdout, stderr = (bytes(output).decode("utf-8", "replace") for output in outputs.values())
    return ExecResult(stdout, stderr, code, killed, truncated)
