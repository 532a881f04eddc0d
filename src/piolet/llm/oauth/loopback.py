"""A listener on this machine that takes the browser's way back from a sign-in page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

MAX_REQUEST = 16 * 1024
READ_TIMEOUT = 5.0

_PAGE = """<!doctype html><meta charset="utf-8"><title>piolet</title>
<body style="font-family: sans-serif; margin: 4em"><h1>{title}</h1><p>{text}</p>"""


class LoopbackListener:
    """Waits for one call of `path` whose query `accept` takes. An async context manager; `port` is known inside."""

    def __init__(self, host: str, port: int, path: str, accept: Callable[[dict[str, str]], bool]) -> None:
        self.port = port
        self._host = host
        self._path = path
        self._accept = accept
        self._server: asyncio.Server | None = None
        self._called: asyncio.Future[dict[str, str]] | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> LoopbackListener:
        """OSError if the port is taken."""
        self._called = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, self._host, self.port, limit=MAX_REQUEST)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def wait(self) -> dict[str, str]:
        """Return the query of the call."""
        assert self._called is not None
        return await self._called

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
            status, title, text = self._answer(head.partition(b"\r\n")[0].decode("latin-1"))
            body = _PAGE.format(title=title, text=text).encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not our browser
        finally:
            self._serving.discard(task)
            writer.close()

    def _answer(self, request_line: str) -> tuple[str, str, str]:
        method, _, rest = request_line.partition(" ")
        target = urlsplit(rest.rpartition(" ")[0])
        if method != "GET" or target.path != self._path:
            return "404 Not Found", "Not found", "This address only takes the answer of a login."
        query = dict(parse_qsl(target.query))
        assert self._called is not None
        if not self._accept(query):
            return "400 Bad Request", "Not accepted", "This answer does not belong to the login that is under way."
        if not self._called.done():
            self._called.set_result(query)
        if "error" in query:
            return "200 OK", "Login refused", "Close this page and go back to the terminal."
        return "200 OK", "Logged in", "Close this page and go back to the terminal."
