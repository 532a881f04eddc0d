"""Model servers on this machine are found quickly, whoever answers there."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from piolet.llm import local_servers
from piolet.llm.local_servers import LocalServer, find_local_servers
from piolet.llm.models import Models
from piolet.llm.provider_config import ModelPatch

LIST = {
    "object": "list",
    "data": [{"id": "a", "max_model_len": 4096}, {"id": "b", "meta": {"n_ctx_train": 99}}, {"id": "c"}],
}


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """A port that gives `answer` to the first connection, or with None takes it and is silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                if answer is None:
                    connection.recv(4096)  # until the client goes away
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def ok(value: object) -> bytes:
    return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(value).encode()


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> float:
    """More time for servers that do answer: this machine may have other work."""
    monkeypatch.setattr(local_servers, "TIMEOUT", 3.0)
    return 3.0


async def test_a_server_is_found_with_its_models_and_their_windows(patience: float) -> None:
    with answering(ok(LIST)) as port:
        found = await find_local_servers({"ollama": port})
    models = [ModelPatch(id="a", context_window=4096), ModelPatch(id="b", context_window=99), ModelPatch(id="c")]
    assert found == [LocalServer("ollama", f"http://127.0.0.1:{port}/v1", models)]
    assert found[0].refs == ["ollama/a", "ollama/b", "ollama/c"]


async def test_a_found_server_can_be_used_as_a_provider() -> None:
    models = Models(environ={})
    server = LocalServer("vllm", "http://127.0.0.1:8000/v1", [ModelPatch(id="a", context_window=4096)])
    models.register_provider(server.name, server.config())
    model = models.find("vllm", "a")
    assert model is not None
    assert (model.base_url, model.context_window) == ("http://127.0.0.1:8000/v1", 4096)
    assert models.start_default() == model
    assert (await models.resolve_auth(model)).api_key == "local"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage",
        b"HTTP/1.0 404 Not Found\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\n\r\n<html>",
        ok([]),
        ok({"data": []}),
        ok({"data": [{"id": 5}, "x", {"id": ""}, {"id": "\x1b[2J"}, {"id": "a\nb"}]}),
        b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 100_000,
    ],
)
async def test_what_is_no_model_server_is_passed_over(answer: bytes) -> None:
    with answering(answer) as port:
        assert await find_local_servers({"x": port}) == []


async def test_all_are_asked_at_once_and_silence_costs_no_more_than_the_time_limit(patience: float) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()[1]
    with answering(None) as silent, answering(None) as other, answering(ok(LIST)) as good:
        began = time.monotonic()
        found = await find_local_servers({"a": silent, "b": other, "c": nobody, "d": good})
        assert time.monotonic() - began < 1.9 * patience
    assert [server.name for server in found] == ["d"]


async def test_llama_cpp_is_found(llama: str, patience: float) -> None:
    port = int(llama.rpartition(":")[2].partition("/")[0])
    [server] = await find_local_servers({"llama.cpp": port})
    assert server.models
