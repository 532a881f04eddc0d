"""Clients that were written for the peer drive piolet unchanged."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.peer import Peer
from tests.support.replies import openai
from tests.support.run import Place, write_command
from tests.support.server import ScriptedServer

HERE = Path(__file__).parent / "clients"


@pytest.fixture
def command(place: Place) -> Iterator[Path]:
    """An executable that is piolet, over a model server that says hello."""
    with ScriptedServer(lambda request: openai("Hello world.")) as server:
        place.write_models(server.url)
        yield write_command(place.home / "piolet")


@pytest.mark.parametrize("client", ["pi_py_sdk", "pi_agent"])
def test_python_clients_drive_piolet(place: Place, command: Path, client: str) -> None:
    pytest.importorskip(client)
    driver = (sys.executable, str(HERE / f"drive_{client}.py"))
    done = place.run(str(command), command=driver, timeout=100)
    assert (done.exit, done.stdout) == (0, "driven\n"), done.stderr[-1500:]


def test_the_client_of_the_peer_drives_piolet(place: Place, command: Path, peer: Peer) -> None:
    node = shutil.which("node", path=os.pathsep.join([os.environ.get("NODE_BIN", ""), os.environ.get("PATH", "")]))
    if node is None or peer.package is None:
        pytest.skip("the peer's package or node is not there (PI_PKG, NODE_BIN)")
    shim = place.home / "piolet.mjs"
    shim.write_text(
        'import { spawn } from "node:child_process";\n'
        f'const child = spawn({str(command)!r}, process.argv.slice(2), {{ stdio: "inherit" }});\n'
        'process.on("SIGTERM", () => child.kill("SIGTERM"));\n'
        'child.on("exit", (code) => process.exit(code ?? 1));\n'
    )
    driver = (node, str(HERE / "drive_rpc_client.mjs"))
    path = os.pathsep.join([str(Path(node).parent), place.environment()["PATH"]])
    done = place.run(str(peer.package), str(shim), command=driver, timeout=100, env={"PATH": path})
    assert (done.exit, done.stdout) == (0, "driven\n"), done.stderr[-1500:]
