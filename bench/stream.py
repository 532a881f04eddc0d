"""What an answer costs while it streams: CPU for each event, and whether long blocks cost more than their length.

The server runs in a process of its own; measured is the CPU time of this one, the best of `RUNS` runs. The peer cannot
be asked for the same thing alone, so there is no ratio.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from piolet.llm.messages import UserMessage
from piolet.llm.model import Context, Model, ModelCost, StreamOptions
from piolet.llm.pool import HttpPool
from piolet.llm.transport import run_request

RUNS = 3
EVENTS, BYTES = 20_000, 5_000_000
MOST_PER_EVENT = 100e-6
SERVER = """
import http.server, sys
body = open(sys.argv[1], "rb").read()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), 16384):
            self.wfile.write(body[start : start + 16384])
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def main() -> None:
    padding = "x" * (BYTES // EVENTS - 120)
    plain = text_chunks(EVENTS, padding)
    seconds = measure(plain)
    per_event = seconds / EVENTS
    size = sum(map(len, plain)) / 1e6
    target = f"<= {MOST_PER_EVENT * 1e6:g}: {verdict(per_event <= MOST_PER_EVENT)}"
    print(f"{EVENTS} events, {size:.1f} MB: {seconds:.2f} s CPU, {per_event * 1e6:.0f} µs an event, {target}")
    for name, make in (("deltas into one text", text_chunks), ("12-character pieces of one argument", call_chunks)):
        for look in (False, True):
            small, large = (measure(make(count), look) for count in (10_000, 40_000))
            what = f"{name}{', looked at 100 times' if look else ''}"
            linear = verdict(large <= 6 * small)
            print(f"{what}: 10 000 {small:.2f} s, 40 000 {large:.2f} s CPU, linear (at most 6 times): {linear}")


def text_chunks(count: int, text: str = "four ") -> list[bytes]:
    return [chunk({"content": text}) for _ in range(count)]


def call_chunks(count: int) -> list[bytes]:
    text = json.dumps({"path": "notes.txt", "content": "a line of text\n" * (count * 12 // 16)})
    head = {"index": 0, "id": "c", "function": {"name": "write", "arguments": ""}}
    pieces = ({"index": 0, "function": {"arguments": text[at : at + 12]}} for at in range(0, len(text), 12))
    return [chunk({"tool_calls": [delta]}) for delta in (head, *pieces)]


def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    record = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    if finish:
        record["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps(record).encode() + b"\n\n"


def measure(chunks: list[bytes], look: bool = False) -> float:
    """Return the least CPU seconds that reading the answer took; with `look` its partial message is made 100 times."""
    body = b"".join([*chunks, chunk({}, "stop"), b"data: [DONE]\n\n"])
    every = len(chunks) // 100 if look else 0
    with serving(body) as url:
        return asyncio.run(best(lambda: read(url, every)))


async def best(once: Callable[[], Awaitable[float]]) -> float:
    return min([await once() for _ in range(RUNS + 1)][1:])


async def read(url: str, every: int) -> float:
    model = Model("m1", "m1", "openai-completions", "stub", url, False, ["text"], ModelCost(), 128_000, 8192)
    pool = HttpPool()
    stream = run_request(model, Context([UserMessage("hi", 1)]), StreamOptions(), pool)
    began = time.process_time()
    events = 0
    async for _ in stream:
        events += 1
        if every and events % every == 0:
            assert stream.partial.content is not None
    seconds = time.process_time() - began
    assert (await stream.result()).stop_reason == "stop"
    await pool.aclose()
    return seconds


@contextmanager
def serving(body: bytes) -> Iterator[str]:
    """Serve `body` to whoever asks, in another process; yield the address."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        with subprocess.Popen([sys.executable, "-c", SERVER, file.name], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
            finally:
                server.terminate()


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"
