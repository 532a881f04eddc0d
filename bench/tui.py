"""The terminal with a session of 2,000 messages: how soon it takes a prompt, how soon a key is seen, what it costs.

Ours and the peer's run in turn in a pseudo-terminal of 110 x 36, each in its own home, offline, against a model on
loopback that sends 200 tokens a second. A key counts as seen when its character stands in what the program writes.
``--mode regular``: both in regular mode. ``--extensions``: ours with all example extensions that draw, the peer's with
none.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.installation import install
from bench.startup import Measure, report
from tests.support.peer import Peer
from tests.support.run import ROOT, Place
from tests.support.server import Reply, ScriptedServer

ROUNDS = 5
COLUMNS, ROWS = 110, 36
TURNS = 1000
KEYS = 20  # whose latency is taken, idle and while an answer streams
TOKENS, TOKENS_A_SECOND = 1600, 200
LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"  # none of them stands in the session
CLOCK = os.sysconf("SC_CLK_TCK")
PARAGRAPH = "The *quick* brown fox jumps over the `lazy` dog and **runs** on through the [forest](https://x.example). "
CODE = "```python\ndef f(x):\n    return x + 1\n```\n"
ANSWER = f"## A heading\n\n{PARAGRAPH * 3}\n\n- one thing\n- another `thing`\n\n{CODE}"
LAST = f"End of {TURNS * 2 - 1}."


@dataclass(frozen=True)
class Run:
    """Seconds; shares of one core; MB. Latencies are medians of a run."""

    first_prompt: float
    start_cpu: float
    idle_key: float
    idle_key_cpu: float
    idle_cpu: float
    streaming_key: float
    streaming_cpu: float
    rss: float


MEASURES = [
    Measure("first usable prompt", "s", lambda run: run.first_prompt, most_of_peer=1.0),
    Measure("start, CPU", "s", lambda run: run.start_cpu),
    Measure("key to paint, idle", "ms", lambda run: run.idle_key * 1000, most_of_peer=1.0),
    Measure("CPU per key, idle", "ms", lambda run: run.idle_key_cpu * 1000, most=10),
    Measure("idle CPU", "%", lambda run: run.idle_cpu * 100, most=1),
    Measure("key to paint, streaming", "ms", lambda run: run.streaming_key * 1000, most=40),
    Measure("CPU while streaming", "%", lambda run: run.streaming_cpu * 100, most=30),
    Measure("RSS", "MB", lambda run: run.rss, most_of_peer=0.6),
]


def main(*argv: str) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tui")
    parser.add_argument("--mode", choices=("fullscreen", "regular"), default="fullscreen")
    parser.add_argument("--extensions", action="store_true")
    options = parser.parse_args(argv)
    extensions = sorted(ROOT.glob("examples/extensions/ui_*.py")) if options.extensions else []
    peer = Peer.find()
    mode = ("--tui-mode", options.mode)
    commands = [[str(install().command), *mode, *(part for path in extensions for part in ("-e", str(path)))]]
    if peer is None:
        print("the peer is not installed (PI_BIN): no ratios")
    else:
        commands.append([str(peer.command), *mode])
    what = f"{options.mode}, {len(extensions)} extensions"
    print(f"medians of {ROUNDS} runs, {TURNS * 2} messages, {what}, load {os.getloadavg()[0]:.1f}")
    print(f"{'':30} {'piolet':>10} {'peer':>10} {'ratio':>7}  target")
    rounds = [[once(command) for command in commands] for _ in range(ROUNDS)]
    for measure in MEASURES:
        report(measure, [median(measure.of(run) for run in runs) for runs in zip(*rounds, strict=True)])


def once(command: list[str]) -> Run:
    with tempfile.TemporaryDirectory() as folder, ScriptedServer([streamed()]) as server:
        place = Place.below(Path(folder))
        place.write_models(server.url)
        session = place.home / "long.jsonl"
        write_session(session, place.cwd)
        argv = [*command, "--model", "stub/m1", "--session", str(session)]
        with Screen(argv, place.cwd, place.environment()) as screen:
            return measured(screen, server)


def measured(screen: Screen, server: ScriptedServer) -> Run:
    first_prompt = screen.first_key()
    screen.drain(1.0)
    start_cpu = screen.cpu()
    before = screen.cpu()
    screen.drain(3.0)
    idle_cpu = (screen.cpu() - before) / 3.0
    before = screen.cpu()
    idle = [screen.key(pause=0.15) for _ in range(KEYS)]
    idle_key_cpu = (screen.cpu() - before) / KEYS
    screen.write("\r")
    server.wait_for_requests(1)
    screen.drain(0.5)
    before, begun = screen.cpu(), time.monotonic()
    streaming = [screen.key(pause=0.15) for _ in range(KEYS)]
    screen.drain(1.0)
    share = (screen.cpu() - before) / (time.monotonic() - begun)
    return Run(first_prompt, start_cpu, median(idle), idle_key_cpu, idle_cpu, median(streaming), share, screen.rss())


class Screen:
    """A command in a pseudo-terminal that shows nothing by itself: only what the program writes is seen."""

    def __init__(self, argv: list[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._master, slave = os.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._letters = self._endless()
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            | {key: value for key, value in env.items() if key not in ("PYTHONPATH", "NO_COLOR")},
            preexec_fn=lambda: os.login_tty(slave),
        )
        os.close(slave)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)

    def write(self, text: str) -> None:
        os.write(self._master, text.encode())

    def first_key(self) -> float:
        """Return the seconds from the start until the end of the session and a key are seen. Keys go on being typed
        until then."""
        seen = b""
        while True:
            letter = next(self._letters)
            self.write(letter)
            until = time.monotonic() + 0.02
            while (left := until - time.monotonic()) > 0:
                seen += self._read(left)
                text = seen.decode(errors="ignore")
                if LAST in text and any(letter in LETTERS for letter in text[text.rindex(LAST) :]):
                    return time.monotonic() - self._begun
            if time.monotonic() - self._begun > 60:
                raise SystemExit(f"no prompt within a minute:\n{seen.decode(errors='replace')[-2000:]}")

    def key(self, *, pause: float) -> float:
        """Press a key; return the seconds until it is seen. Then read on for `pause` seconds."""
        letter = next(self._letters)
        begun = time.monotonic()
        self.write(letter)
        seen = b""
        while letter.encode() not in seen:
            seen += self._read(1.0)
            if time.monotonic() - begun > 10:
                raise SystemExit("a key was not seen within 10 s")
        taken = time.monotonic() - begun
        self.drain(pause)
        return taken

    def drain(self, seconds: float) -> None:
        """Read for some seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(left)

    def cpu(self) -> float:
        """Return the seconds of CPU that the command has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK

    def rss(self) -> float:
        """Return the resident set in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(match[1]) / 1000 if match else 0.0

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._master], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self._master, 65536)
        except OSError:
            raise SystemExit("the program has ended") from None

    @staticmethod
    def _endless() -> Iterator[str]:
        while True:
            yield from LETTERS


def write_session(path: Path, cwd: Path) -> None:
    """Write `TURNS` prompts with markdown answers, some 680 KB."""
    usage = {"input": 1000, "output": 200, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1200}
    cost = {"input": 0.001, "output": 0.0004, "cacheRead": 0, "cacheWrite": 0, "total": 0.0014}
    model = {"api": "openai-completions", "provider": "stub", "model": "m1", "stopReason": "stop"}
    answer = {"role": "assistant", "usage": usage | {"cost": cost}, **model}
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "bench-tui", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(cwd)}
    ]
    parent = None
    for number in range(TURNS * 2):
        is_prompt = number % 2 == 0
        text = f"Prompt {number}: tell me more." if is_prompt else f"{ANSWER}\nEnd of {number}."
        message = {"role": "user"} if is_prompt else answer
        message = message | {"content": [{"type": "text", "text": text}], "timestamp": 1_767_225_600_000 + number}
        id = f"{number:08x}"
        lines.append(
            {
                "type": "message",
                "id": id,
                "parentId": parent,
                "timestamp": "2026-01-01T00:00:00.000Z",
                "message": message,
            }
        )
        parent = id
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def streamed() -> Reply:
    """Return an answer of markdown that comes token by token."""
    text = ANSWER * (TOKENS * 4 // len(ANSWER) + 1)
    tokens = [text[at : at + 4] for at in range(0, TOKENS * 4, 4)]
    pause = {"sleep_ms": 1000 / TOKENS_A_SECOND}
    steps: list[dict[str, Any]] = [step for token in tokens for step in ({"delta": {"content": token}}, pause)]
    return {"stream": [*steps, {"finish": "stop"}, {"done": True}]}
