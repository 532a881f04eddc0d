"""What is told on standard error is one safe line."""

from __future__ import annotations

import pytest

from piolet.harness.hooks import HookFailure
from piolet.modes.say import complain, failure_teller, warn


def failure(error: Exception | None) -> HookFailure:
    return HookFailure("tool_call", "ext.py", None, error, 1.25)


def test_lines_hold_nothing_that_drives_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    warn("a\x1b[31m\nb\r\x07c\u202e")
    complain("x\n\ny")
    assert capsys.readouterr().err == "Warning: a bc\nError: x  y\n"


def test_a_failure_of_a_handler_names_owner_and_hook(capsys: pytest.CaptureFixture[str]) -> None:
    tell = failure_teller(verbose=False)
    tell(failure(ValueError("wrong")))
    tell(failure(None))
    assert capsys.readouterr().err == "Extension error (ext.py): tool_call: wrong\n"


def test_verbose_adds_where_it_happened_and_who_is_slow(capsys: pytest.CaptureFixture[str]) -> None:
    tell = failure_teller(verbose=True)
    try:
        raise ValueError("wrong")
    except ValueError as error:
        tell(failure(error))
    tell(failure(None))
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "Slow extension (ext.py): tool_call took 1.2 s"
