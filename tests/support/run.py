"""Runs of piolet as a user has them: a process with a home, a working directory and a clean environment."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PIOLET = (sys.executable, "-m", "piolet")


def write_command(path: Path) -> Path:
    """Make `path` an executable that is piolet; return it."""
    path.write_text(f'#!/bin/sh\nexec {shlex.join(PIOLET)} "$@"\n')
    path.chmod(0o755)
    return path


@dataclass(frozen=True)
class Finished:
    stdout: str
    stderr: str
    exit: int

    @property
    def records(self) -> list[Any]:
        """The lines of stdout as JSON."""
        return [json.loads(line) for line in self.stdout.split("\n") if line]


@dataclass(frozen=True)
class Place:
    """A home and a working directory, both existing and apart from each other."""

    home: Path
    cwd: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def below(cls, folder: Path) -> Place:
        """Make one in `folder`."""
        place = cls(folder / "home", folder / "cwd")
        place.home.mkdir()
        place.cwd.mkdir()
        return place

    @property
    def agent(self) -> Path:
        """The folder of settings, credentials and sessions."""
        return self.home / ".pi" / "agent"

    def sessions(self) -> list[Path]:
        """Return the session files, oldest name first."""
        return sorted(self.agent.glob("sessions/**/*.jsonl"))

    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PI_OFFLINE": "1",
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "src"),
            "TMPDIR": tempfile.gettempdir(),
        }

    def start(
        self, *argv: str, env: Mapping[str, str] | None = None, command: tuple[str, ...] = PIOLET
    ) -> subprocess.Popen[bytes]:
        """Start piolet, or `command`, with pipes; `env` is added to the clean environment."""
        process = subprocess.Popen(
            [*command, *argv],
            cwd=self.cwd,
            env=self.environment() | dict(env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def leave(self) -> None:
        """Kill what a test that failed has left running."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def run(
        self,
        *argv: str,
        stdin: str | bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
        command: tuple[str, ...] = PIOLET,
    ) -> Finished:
        """Run piolet, or `command`, to its end with `stdin` in a pipe that is then closed."""
        content = stdin.encode() if isinstance(stdin, str) else stdin
        with self.start(*argv, env=env, command=command) as process:
            try:
                stdout, stderr = process.communicate(content, timeout)
            except BaseException:
                process.kill()
                raise
        return Finished(stdout.decode(), stderr.decode(), process.returncode)

    def write_models(self, server_url: str, **provider: Any) -> None:
        """Write the standard models.json: provider `stub` at `server_url` + "/v1" with three models.

        `provider` replaces fields of the provider, say ``api="anthropic-messages", baseUrl=server_url``.
        """
        stub = {"api": "openai-completions", "apiKey": "k", "baseUrl": server_url + "/v1", "models": MODELS} | provider
        self.agent.mkdir(parents=True, exist_ok=True)
        (self.agent / "models.json").write_text(json.dumps({"providers": {"stub": stub}}, indent=2))

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write settings.json with quick retries, `settings` merged over them at the top level."""
        self.agent.mkdir(parents=True, exist_ok=True)
        merged = {"retry": {"baseDelayMs": 20}} | dict(settings)
        (self.agent / "settings.json").write_text(json.dumps(merged, indent=2))


def _model(id: str, name: str, context: int, most: int, **more: Any) -> dict[str, Any]:
    cost = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0}
    known = {"id": id, "name": name, "input": ["text"], "cost": cost, "contextWindow": context, "maxTokens": most}
    return known | more


MODELS = [
    _model("m1", "m1", 128000, 8192),
    _model("m2-think", "m2 thinking", 128000, 8192, reasoning=True),
    _model("m3-small", "m3 small", 24000, 4096),
]
