"""What the user is told of a session that is opened: damage, and somebody else who has it in use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.session.making import HEADER, said, write
from tests.support import replies
from tests.support.run import Place
from tests.support.server import ScriptedServer

HOLD = """
import sys
from piolet.harness.session.session import Session
session = Session.open(sys.argv[1])
session.claim()
print("held", flush=True)
input()
"""


@pytest.fixture
def stored(place: Place) -> Path:
    return write(place.home / "s.jsonl", said("u1", None), header=HEADER | {"cwd": str(place.cwd)})


def ask(place: Place, session: Path) -> str:
    with ScriptedServer([replies.openai("Yes.")]) as server:
        place.write_models(server.url)
        done = place.run("-p", "--model", "stub/m1", "--session", str(session), "Well?")
    assert (done.exit, done.stdout) == (0, "Yes.\n"), done.stderr
    return done.stderr


def test_a_sound_session_of_ones_own_needs_no_words(place: Place, stored: Path) -> None:
    assert ask(place, stored) == ""
    assert ask(place, stored) == ""


def test_a_session_in_use_by_another_process_is_told(place: Place, stored: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(stored)],
        env=place.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        assert "in use by another process" in ask(place, stored)
        holder.stdin.close()


def test_damaged_lines_are_told(place: Place, stored: Path) -> None:
    stored.write_bytes(stored.read_bytes() + b'42\n{"torn')
    told = ask(place, stored)
    assert "2 damaged lines" in told
    assert f"piolet sessions verify {stored}" in told  # the id may mean another file
