"""A client of the RPC mode: sends commands, waits for records, keeps everything that came."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.run import PIOLET, Place

PATIENCE = 60.0


class RpcClient:
    """Talks to a process that was started with pipes. `records`: all that it wrote, in order."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.records: list[Any] = []
        self.junk: list[bytes] = []  # lines that are no JSON
        self._ended = False
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        self._stderr = bytearray()
        self._threads = [threading.Thread(target=target) for target in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    @property
    def stderr(self) -> str:
        return self._stderr.decode(errors="replace")

    def write(self, data: str | bytes) -> None:
        """Write to standard input as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(data.encode() if isinstance(data, str) else data)
        self.process.stdin.flush()

    def send(self, type: str, **fields: Any) -> str:
        """Send a command; return its id."""
        id = f"c{next(self._ids)}"
        self.write(json.dumps({"id": id, "type": type, **fields}) + "\n")
        return id

    def request(self, type: str, **fields: Any) -> Any:
        """Send a command and return its response."""
        return self.response(self.send(type, **fields))

    def data(self, type: str, **fields: Any) -> Any:
        """Send a command that must succeed and return its data."""
        response = self.request(type, **fields)
        assert response["success"], response
        return response.get("data")

    def response(self, id: str) -> Any:
        return self.wait(type="response", id=id)

    def prompt(self, message: str, **fields: Any) -> Any:
        """Send a prompt, wait until everything has settled, and return the last answer."""
        id = self.send("prompt", message=message, **fields)
        response = self.response(id)
        assert response["success"], response
        start = self.find(type="response", id=id)
        assert start is not None
        self.wait(start, type="agent_settled")
        answers = [record["message"] for record in self.records[start:] if record.get("type") == "message_end"]
        return answers[-1]

    def find(self, start: int = 0, **fields: Any) -> int | None:
        """Return the place of the first record so far, from place `start` on, that has these fields."""
        for place, record in enumerate(self.records[start:], start):
            if isinstance(record, dict) and all(record.get(name) == value for name, value in fields.items()):
                return place
        return None

    def wait(self, start: int = 0, timeout: float = PATIENCE, **fields: Any) -> Any:
        """Return the first record from place `start` on that has these fields."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                if (place := self.find(start, **fields)) is not None:
                    return self.records[place]
                if self._ended or not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no record {fields}; the last: {self.records[-3:]}; stderr: {self.stderr}")

    def events(self, type: str) -> list[Any]:
        return [record for record in self.records if record.get("type") == type]

    def close(self, timeout: float = PATIENCE) -> int:
        """End the input, wait for the process and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait_for_exit(timeout)

    def wait_for_exit(self, timeout: float = PATIENCE) -> int:
        code = self.process.wait(timeout)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    def kill(self) -> None:
        self.process.kill()
        self.wait_for_exit()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                try:
                    self.records.append(json.loads(line))
                except ValueError:
                    self.junk.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._stderr += line


@contextmanager
def rpc(
    place: Place, *argv: str, env: Mapping[str, str] | None = None, command: tuple[str, ...] = PIOLET
) -> Iterator[RpcClient]:
    """Start the RPC mode in `place`, with `argv` behind ``--mode rpc``; end it whatever happens."""
    client = RpcClient(place.start("--mode", "rpc", *argv, env=env, command=command))
    try:
        yield client
    finally:
        client.kill()
