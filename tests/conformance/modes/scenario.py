"""Plays a scenario: writes its files, runs the program, feeds its standard input step by step."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.run import Place
from tests.support.server import Request, ScriptedServer

#: Seconds that a step may wait, and the program may take to end.
PATIENCE = 60.0


@dataclass(frozen=True)
class Played:
    """What a run gave, raw. `stdout` is a list of records, or of lines in print mode."""

    place: Place
    server_url: str
    stdout: list[Any]
    stderr: str
    exit: int
    requests: list[Request]
    session_files: dict[str, list[Any]]


def play(scenario: Mapping[str, Any]) -> Played:
    """Run the program as the scenario says."""
    with (
        tempfile.TemporaryDirectory(prefix="piolet-mode-") as folder,
        ScriptedServer(scenario["server_script"]) as server,
    ):
        place = Place.below(Path(folder))
        if scenario["setup"]["models_json"]:
            place.write_models(server.url)
        place.write_settings(scenario.get("settings", {}))
        for name, content in scenario.get("files", {}).items():
            _write(place, name, content)
        argv = [_filled(word, place) for word in scenario["argv"]]
        process = place.start(*argv, env=scenario.get("env"))
        reader = _Reader(process)
        try:
            _feed(process, reader, scenario["stdin"])
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {PATIENCE:g} s; stderr: {reader.stderr_text()[-300:]}") from None
        finally:
            process.kill()
            process.wait()
        stdout, stderr = reader.finish()
        lines: list[Any] = stdout.split("\n")[:-1] if stdout.endswith("\n") else stdout.split("\n") if stdout else []
        if scenario["mode"] != "print":
            lines = [json.loads(line) for line in lines]
        files = {str(path): _records(path) for path in place.sessions()}
        return Played(place, server.url, lines, stderr, process.returncode, list(server.requests), files)


class _Reader:
    """Reads both outputs in threads, so that neither side ever waits for a full pipe."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._records: queue.Queue[Any] = queue.Queue()
        self._out: list[bytes] = []
        self._err: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._read_out, args=(process.stdout,)),
            threading.Thread(target=self._read_err, args=(process.stderr,)),
        ]
        for thread in self._threads:
            thread.start()

    def _read_out(self, pipe: Any) -> None:
        with pipe:
            for line in pipe:
                self._out.append(line)
                self._records.put(_parsed(line))
        self._records.put(None)

    def _read_err(self, pipe: Any) -> None:
        with pipe:
            for line in pipe:
                self._err.append(line)

    def wait(self, pattern: Mapping[str, Any]) -> Any:
        """Return the next record that holds `pattern`."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                record = self._records.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(
                    f"waited in vain for {json.dumps(pattern)}; stderr: {self.stderr_text()}"
                ) from None
            assert record is not None, f"output ended before {json.dumps(pattern)}; stderr: {self.stderr_text()}"
            if _holds(record, pattern):
                return record

    def stderr_text(self) -> str:
        return b"".join(self._err).decode(errors="replace")

    def finish(self) -> tuple[str, str]:
        for thread in self._threads:
            thread.join(PATIENCE)
        return b"".join(self._out).decode(), self.stderr_text()


def _feed(process: subprocess.Popen[bytes], reader: _Reader, steps: list[Any]) -> None:
    captured: dict[str, str] = {}
    assert process.stdin is not None
    for step in steps:
        match step:
            case str() as text:
                _put(process, text)
            case {"raw": str() as text}:
                _put(process, _with(text, captured))
            case {"send": command}:
                _put(process, _with(json.dumps(command, ensure_ascii=False), captured) + "\n")
            case {"wait": pattern, **rest}:
                record = reader.wait(pattern)
                for name, path in rest.get("capture", {}).items():
                    captured[name] = str(_at(record, path))
            case {"sleep_ms": ms}:
                time.sleep(ms / 1000)
            case {"signal": number}:
                process.send_signal(signal.Signals(number))
            case {"close": True}:
                process.stdin.close()
            case _:
                raise AssertionError(f"unknown step {step}")


def _put(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text.encode("utf-8", "surrogatepass"))
    process.stdin.flush()


def _with(text: str, captured: Mapping[str, str]) -> str:
    for name, value in captured.items():
        text = text.replace("{" + name + "}", value)
    return text


def _at(record: Any, path: str) -> Any:
    for step in path.split("."):
        record = record[int(step)] if isinstance(record, list) else record[step]
    return record


def _holds(record: Any, pattern: Any) -> bool:
    if isinstance(pattern, dict):
        return isinstance(record, dict) and all(k in record and _holds(record[k], v) for k, v in pattern.items())
    return bool(record == pattern)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line.decode(errors="replace")


def _write(place: Place, name: str, content: Any) -> None:
    top, _, rest = name.partition("/")
    path = (place.cwd if top == "cwd" else place.home) / rest
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in content["jsonl"])
    path.write_text(_filled(content, place), encoding="utf-8")


def _filled(text: str, place: Place) -> str:
    return text.replace("{cwd}", os.fspath(place.cwd)).replace("{home}", os.fspath(place.home))


def _records(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
