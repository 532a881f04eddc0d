from __future__ import annotations

import base64

import pytest

from piolet.tui.program_status import STATUS_QUERY, is_status_reply, status_report


def message_of(report: str) -> str:
    return base64.b64decode(report.removesuffix("\x1b\\").rpartition("msg=")[2]).decode()


def test_a_terminal_that_wants_to_know_answers_with_the_question() -> None:
    assert is_status_reply(STATUS_QUERY)
    assert is_status_reply("\x1b]7501;?\x07")
    assert not is_status_reply("\x1b]7501;state=idle\x1b\\")
    assert not is_status_reply("\x1b[?62;4c")


def test_a_report_names_the_state_the_program_and_what_is_asked() -> None:
    assert status_report("idle") == "\x1b]7501;state=idle:app=piolet\x1b\\"
    assert (
        status_report("blocked", "Run it?", "permission")
        == "\x1b]7501;state=blocked:app=piolet:kind=permission:msg=UnVuIGl0Pw==\x1b\\"
    )


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("two\n\tlines", "two lines"),
        ("\x1b[31mred\x1b[0m\x07", "red"),
        ("x" * 5000, "x" * 2048),
        ("é" * 1500, "é" * 1024),
        ("x" + "é" * 1500, "x" + "é" * 1023),
    ],
)
def test_a_message_is_plain_text_on_a_line_and_never_too_long(message: str, told: str) -> None:
    assert message_of(status_report("error", message)) == told
