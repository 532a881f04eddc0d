"""A model server on loopback that plays replies from a script and remembers what it was asked.

The replies are those of the mode transcripts (``server_script``): dicts with optional ``delay_ms``, ``status`` and
``headers``, and one of ``json``, ``text`` or ``stream``, a list of steps. `tests.support.replies` builds them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
Reply = Mapping[str, Any]
EXHAUSTED: Reply = {"status": 400, "json": {"error": {"message": "script exhausted"}}}


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    content: bytes
    at: float  # `time.monotonic()` when the last byte had arrived

    @cached_property
    def body(self) -> Any:
        """The content as JSON."""
        return json.loads(self.content)


class ScriptedServer:
    """Gives the n-th reply of `script` to the n-th POST, whatever it asks; then status 400. A GET gets 404.

    A callable in place of the list makes the reply from the request. Each connection serves one request. Use it as a
    context manager; leaving it ends replies under way and raises what a reply's making or playing has raised.
    """

    def __init__(self, script: Sequence[Reply] | Callable[[Request], Reply] = ()) -> None:
        self.script = script
        self.requests: list[Request] = []  # the POSTs, in order of arrival
        self.others: list[Request] = []
        self.disconnects: list[int] = []  # numbers (from 1) of the replies whose client went away before their end
        self.errors: list[BaseException] = []
        self._changed = threading.Condition()
        self._http = _Http(self)

    @property
    def url(self) -> str:
        """The address without a slash at the end."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), name="scripted-server").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.stop()
        if self.errors and error is None:
            raise self.errors[0]

    def wait_for_requests(self, count: int, timeout: float = 30) -> list[Request]:
        """Return the POSTs when there are at least `count`; raise TimeoutError after `timeout` seconds."""
        return self._wait(lambda: len(self.requests) >= count, self.requests, f"{count} requests", timeout)

    def wait_for_disconnects(self, count: int = 1, timeout: float = 30) -> list[int]:
        """Return `disconnects` when there are at least `count`; raise TimeoutError after `timeout` seconds."""
        return self._wait(lambda: len(self.disconnects) >= count, self.disconnects, f"{count} disconnects", timeout)

    def _wait(self, done: Callable[[], bool], seen: list[T], what: str, timeout: float) -> list[T]:
        with self._changed:
            if not self._changed.wait_for(done, timeout):
                raise TimeoutError(f"{what} expected within {timeout} s, {len(seen)} seen")
            return list(seen)

    def _take(self, request: Request) -> tuple[int, Reply]:
        """Note a request; return the number of its reply and the reply."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            number = len(self.requests)
        if callable(self.script):
            return number, self.script(request)
        return number, self.script[number - 1] if number <= len(self.script) else EXHAUSTED

    def _disconnected(self, number: int) -> None:
        if self._http.stopping:
            return
        with self._changed:
            self.disconnects.append(number)
            self._changed.notify_all()


class _Disconnected(Exception):
    """The client closed the connection, or the server did because it stops."""


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, server: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripted = server
        self.stopping = False
        self._connections: set[socket.socket] = set()

    def stop(self) -> None:
        """Return when no connection is open and no thread runs any more."""
        self.shutdown()
        self.stopping = True
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        assert error is not None
        self.scripted.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.scripted.others.append(self._request())
        self._whole(404, {"content-type": "text/plain"}, b"not found")

    def do_POST(self) -> None:
        self.close_connection = True
        number, reply = self.server.scripted._take(self._request())
        try:
            self._sleep(reply.get("delay_ms", 0))
            self._play(number, reply)
        except (_Disconnected, ConnectionError):
            self.server.scripted._disconnected(number)

    def _request(self) -> Request:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._last = Request(self.command, self.path, headers, content, time.monotonic())
        return self._last

    def _play(self, number: int, reply: Reply) -> None:
        status, headers = reply.get("status", 200), reply.get("headers", {})
        if "json" in reply:
            self._whole(status, {"content-type": "application/json"} | headers, json.dumps(reply["json"]).encode())
        elif "text" in reply:
            self._whole(status, {"content-type": "text/plain; charset=utf-8"} | headers, reply["text"].encode())
        else:
            self._head(status, {"content-type": "text/event-stream", "cache-control": "no-cache"} | headers)
            self._stream(number, reply["stream"])

    def _stream(self, number: int, steps: Sequence[Mapping[str, Any]]) -> None:
        for step in steps:
            match step:
                case {"delta": delta}:
                    self._event(self._chunk(number, delta, None))
                case {"finish": reason}:
                    self._event(self._chunk(number, {}, reason))
                case {"usage": usage}:
                    self._event(self._chunk(number, None, None) | {"choices": [], "usage": usage})
                case {"chunk": chunk}:
                    self._event(chunk)
                case {"raw": text}:
                    self.wfile.write(text if isinstance(text, bytes) else text.encode())
                case {"done": True}:
                    self.wfile.write(b"data: [DONE]\n\n")
                case {"sleep_ms": ms}:
                    self._sleep(ms)
                case {"close": True}:
                    return
                case {"reset": True}:
                    self._reset()
                    return
                case _:
                    raise ValueError(f"unknown step {step}")

    def _chunk(self, number: int, delta: Any, finish: str | None) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": self._last.body.get("model"),
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    def _event(self, data: Any) -> None:
        self.wfile.write(b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n")

    def _whole(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self._head(status, {**headers, "content-length": str(len(content))})
        self.wfile.write(content)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()

    def _sleep(self, ms: float) -> None:
        """Wait, but raise `_Disconnected` as soon as the connection is closed."""
        if ms and select.select([self.connection], [], [], ms / 1000)[0]:
            raise _Disconnected

    def _reset(self) -> None:
        """Close so that the client sees ECONNRESET."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
