"""The screen on another machine, looked at through a real ssh connection that is resized, and then lost."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.modes.interactive.endurance import wait_until
from tests.modes.interactive.program import READY
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer
from tests.support.sshd import SshServer, why_no_server
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(why_no_server() is not None, reason=why_no_server() or "")


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    server = SshServer(tmp_path_factory.mktemp("sshd"))
    server.start()
    yield server
    server.stop()


def over_ssh(far: SshServer, place: Place, *argv: str, columns: int = 100, **env: str) -> Terminal:
    """Return a terminal with piolet at the far end of a connection, in `place`."""
    there = {**place.environment(), "COLORTERM": "truecolor", **env}
    variables = [f"{name}={value}" for name, value in there.items()]
    command = f"cd {shlex.quote(str(place.cwd))} && exec {shlex.join(['env', *variables, *PIOLET, *argv])}"
    return Terminal([*far.ssh, "-tt", "far", command], cwd=place.cwd, env=dict(os.environ), columns=columns, rows=30)


def test_a_connection_is_worked_over_resized_and_lost(far: SshServer, place: Place) -> None:
    waits = Call("bash", {"command": "echo $$ > shell; echo $PPID > piolet; sleep 600"}, "c1")
    with ScriptedServer([openai("Hello *from* afar: é 你好."), openai("", waits), openai("Still here.")]) as server:
        place.write_models(server.url)
        with over_ssh(far, place, "--model", "stub/m1") as terminal:
            terminal.wait_for(READY)
            terminal.send("hello\r")
            terminal.wait_for("Hello from afar: é 你好.")
            terminal.resize(60, 20)
            terminal.wait_for(lambda text: "─" * 60 in text and "Hello from afar" in text)
            terminal.send("work\r")
            wait_until(lambda: (place.cwd / "piolet").exists() and (place.cwd / "piolet").read_text().endswith("\n"))
            far.break_connections()
            assert terminal.wait_for_exit() == 255
        for name in ("piolet", "shell"):
            pid = int((place.cwd / name).read_text())
            wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists())
        [session] = place.sessions()
        assert "Command aborted" in session.read_text()
        assert len(server.requests) == 2
        assert place.run("sessions", "verify", str(session)).exit == 0
        with over_ssh(far, place, "-c", "--model", "stub/m1") as terminal:
            terminal.wait_for("Hello from afar")
            terminal.send("and now?\r")
            terminal.wait_for("Still here.")
            terminal.press("ctrl+d")
            terminal.wait_for("To resume this session:")
            assert terminal.wait_for_exit() == 0


def test_a_far_locale_without_utf_8_shows_the_same(far: SshServer, place: Place) -> None:
    with ScriptedServer([openai("Über 你好.")]) as server:
        place.write_models(server.url)
        with over_ssh(far, place, "--model", "stub/m1", LANG="C", LC_ALL="C") as terminal:
            terminal.wait_for(READY)
            terminal.send("Größe\r")
            terminal.wait_for("Über 你好.")
            assert "Größe" in terminal.text
