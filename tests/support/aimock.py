"""A server that nobody here wrote and that speaks many providers' protocols: the npm package aimock, run by node.

It is installed once, into the user's cache folder. Its answers are fixed, chosen by a word in the last user message.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PACKAGE, VERSION = "@copilotkit/aimock", "1.43.0"
INSTALL_SECONDS = 60
FIXTURES = [
    {
        "match": {"userMessage": "limit"},
        "response": {"error": {"message": "Slow down", "type": "rate_limit_error"}, "status": 429},
    },
    {
        "match": {"userMessage": "both"},
        "response": {
            "toolCalls": [
                {"name": "read", "arguments": '{"path":"notes.txt"}'},
                {"name": "bash", "arguments": '{"command":"ls"}'},
            ]
        },
    },
    {
        "match": {"userMessage": "think"},
        "response": {"content": "So be it.", "reasoning": "There is little to weigh."},
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Good day from a server that knows one line."}},
]


def require_program() -> Path:
    """Return the server's script, installed if need be; skip the test where that cannot be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("aimock needs node and npm")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "piolet-tests"
    folder = cache / f"aimock-{VERSION}"
    if not folder.is_dir():
        _install(folder)
    return folder / "node_modules" / PACKAGE / "dist" / "cli.js"


def _install(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0")
        command = ["npm", "install", *quiet, "--prefix", f"{fresh}/aimock", f"{PACKAGE}@{VERSION}"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"aimock cannot be installed: {error}")
        with suppress(OSError):  # another process was quicker
            os.rename(f"{fresh}/aimock", folder)


@contextmanager
def serving(program: Path, folder: Path) -> Iterator[str]:
    """Run the server as a child process; the value is its URL. `folder` takes the file of its answers."""
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    command = ["node", str(program), "-p", "0", "-f", str(folder), "--chunk-size", "5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            url = next((line.split()[-1] for line in process.stdout if "listening on" in line), None)
            assert url is not None, "aimock did not start"
            yield url
        finally:
            process.kill()
