"""Clients that were written for the peer drive piolet unchanged."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.peer import Peer
from tests.support.replies import openai
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer

HERE = Path(__file__).parent / "clients"
CLIENTS = ("pi-py-sdk==0.2.1", "pi-agent-python-sdk==0.2.6")


@pytest.fixture(scope="session")
def client_python() -> Path:
    """The interpreter of an environment with the Python clients; made once, kept between runs."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(tempfile.gettempdir()) / f"piolet-clients-{os.getuid()}-{version}-{'-'.join(CLIENTS)}"
    python = folder / "bin" / "python"
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            for command in _install_commands(folder, python):
                done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
                if done.returncode:
                    pytest.skip(f"the clients cannot be installed here: {done.stderr.strip()[-200:]}")
            (folder / "complete").touch()
    return python


def _install_commands(folder: Path, python: Path) -> list[list[str]]:
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is not None:
        return [
            [uv, "venv", "-q", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "-q", "--python", str(python), *CLIENTS],
        ]
    return [
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *CLIENTS],
    ]


@pytest.fixture
def command(place: Place) -> Iterator[Path]:
    """An executable that is piolet, over a model server that says hello."""
    script = place.home / "piolet"
    script.write_text(f'#!/bin/sh\nexec {PIOLET[0]} {" ".join(PIOLET[1:])} "$@"\n')
    script.chmod(0o755)
    with ScriptedServer(lambda request: openai("Hello world.")) as server:
        place.write_models(server.url)
        yield script


@pytest.mark.parametrize("client", ["pi_py_sdk", "pi_agent"])
def test_python_clients_drive_piolet(place: Place, command: Path, client_python: Path, client: str) -> None:
    driver = (str(client_python), str(HERE / f"drive_{client}.py"))
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
