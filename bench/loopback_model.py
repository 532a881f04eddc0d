"""A model on loopback for many clients at once: ``python -m bench.loopback_model`` prints its address and serves.

Every answer is a chat completions stream. A delta holds the time at which it was sent, so that clients of the same
machine know how long it took to reach them. The model's name says how: ``CHUNKSxMILLISECONDS``, the number of deltas
and the pause before each.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
USAGE = {"prompt_tokens": 1200, "completion_tokens": 5, "total_tokens": 1205}


@contextmanager
def loopback_model() -> Iterator[str]:
    """Run the model in a process of its own; give the address to put into a ``baseUrl``."""
    with subprocess.Popen([sys.executable, "-m", "bench.loopback_model"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def serve() -> None:
    server = await asyncio.start_server(client, "127.0.0.1", 0, backlog=2000)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            model = json.loads(await reader.readexactly(length))["model"]
            await answer(writer, model)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(writer: asyncio.StreamWriter, model: str) -> None:
    chunks, pause = (int(part) for part in model.split("x"))
    writer.write(HEAD)
    for _ in range(chunks):
        if pause:
            await asyncio.sleep(pause / 1000)
        send(writer, model, [{"index": 0, "delta": {"content": f"{time.time():.6f} "}, "finish_reason": None}])
        await writer.drain()
    send(writer, model, [{"index": 0, "delta": {}, "finish_reason": "stop"}])
    send(writer, model, [], USAGE)
    write(writer, b"data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def send(writer: asyncio.StreamWriter, model: str, choices: list[object], usage: object = None) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
    if usage:
        chunk["usage"] = usage
    write(writer, b"data: " + json.dumps(chunk).encode() + b"\n\n")


def write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


if __name__ == "__main__":
    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        pass
