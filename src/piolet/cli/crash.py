"""What becomes of an error that nobody expected: one line for the user, the rest in a report that only he can read.

A traceback reaches standard error with ``--verbose`` alone. The report holds no secret that this machine knows.
"""

from __future__ import annotations

import os
import sys
import traceback
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from piolet.app.secrets import Secrets

REPORT, TOLD_REPORT = "piolet-crash.log", "piolet-crash.old.log"


def report_crash(error: BaseException, *, verbose: bool = False) -> int:
    """Tell of `error` in one line and write the report, with its traceback; return the exit code."""
    from piolet.modes.say import complain

    if verbose:
        traceback.print_exception(error)
    try:
        text, where = _reported(error)
    except Exception:  # without the secrets nothing of the error may be shown
        text, where = type(error).__name__, "--verbose shows where"
    if isinstance(error, ModuleNotFoundError) and error.name:
        text = f"The Python package {error.name} is missing from this installation. Install piolet anew, the same way"
        complain(f"{text} as before, for instance: pipx reinstall piolet ({where})")
    else:
        complain(f"This is a fault in piolet: {text} ({where})")
    return 1


def _reported(error: BaseException) -> tuple[str, str]:
    """Write the report; return a text about `error`, and where more is told."""
    from piolet.app.options import agent_dir

    folder = agent_dir(os.environ)
    secrets = _secrets(folder)
    text = secrets.mask(f"{type(error).__name__}: {error}"[:500])
    try:
        write_report(folder / REPORT, secrets.mask(_report(error)))
    except OSError:
        return text, "--verbose shows where"
    return text, f"the report is in {folder / REPORT}"


def last_crash(folder: Path) -> str | None:
    """Return what to tell of a crash that the user was not reminded of yet; it is told once."""
    path, told = folder / REPORT, folder / TOLD_REPORT
    try:
        os.replace(path, told)
    except OSError:
        return None
    return f"piolet ended because of a fault the last time; the report is in {told}"


def watch(loop: AbstractEventLoop, *, verbose: bool) -> None:
    """Report what nobody waits for too, in `loop` and in threads: Python would print its traceback."""
    import threading

    def on_error(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        tell(error if isinstance(error, Exception) else RuntimeError(context["message"]))

    def on_thread_error(arguments: threading.ExceptHookArgs) -> None:
        if isinstance(arguments.exc_value, Exception):
            tell(arguments.exc_value)

    def tell(error: Exception) -> None:
        path = _extension(error)
        if path is None:
            report_crash(error, verbose=verbose)
            return
        from piolet.harness.hooks import HookFailure
        from piolet.modes.say import failure_teller

        failure_teller(verbose=verbose)(HookFailure("in the background", path, None, error, 0))

    loop.set_exception_handler(on_error)
    threading.excepthook = on_thread_error


def _extension(error: BaseException) -> str | None:
    """Return the file of the extension that `error` comes from; None if it comes from none."""
    from piolet.app.extensions.loader import PREFIX

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__")).startswith(PREFIX):
            return frame.f_code.co_filename
    return None


def write_report(path: Path, text: str) -> None:
    """Replace the report. OSError if it cannot be written."""
    from piolet.base.files import write_private

    write_private(path, text.encode("utf-8", "replace"))


def _secrets(folder: Path) -> Secrets:
    from piolet.app.secrets import Secrets

    keys = [value for option, value in pairwise(sys.argv) if option == "--api-key"]
    return Secrets.of(folder, os.environ, *keys)


def _report(error: BaseException) -> str:
    from piolet._version import __version__

    return "\n".join(
        [
            f"piolet {__version__}, Python {sys.version.split()[0]}, {sys.platform}",
            f"time: {datetime.now(UTC).isoformat(timespec='seconds')}",
            f"folder: {os.getcwd()}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
