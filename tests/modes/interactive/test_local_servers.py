"""Without a configured model, one that a server of this machine has may be used, if the user agrees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from piolet.llm import local_servers
from piolet.llm.provider_table import BUILTIN_PROVIDERS
from tests.modes.interactive.desk import opened
from tests.support.run import Place

QUESTION = "Use one that this machine serves?"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = json.dumps({"data": [{"id": "tiny"}, {"id": "other"}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(autouse=True)
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server at a port of its own in place of Ollama's, no others, and no credentials in the environment."""
    for provider in BUILTIN_PROVIDERS.values():
        for name in (*provider.key_env, *(name for names in provider.ambient for name in names)):
            monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        monkeypatch.setattr(local_servers, "TIMEOUT", 3.0)
        for name in local_servers.PORTS:
            monkeypatch.setitem(local_servers.PORTS, name, server.server_port if name == "ollama" else 9)  # type: ignore[index]
        yield
        server.shutdown()


def settings(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "home" / ".pi" / "agent" / "settings.json").read_text())


async def test_the_choice_is_used_and_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path, model=None, ready=False) as desk:
        await desk.see(QUESTION)
        await desk.see("somebody else's")
        desk.key("down", "enter")
        await desk.see("Model: other")
        await desk.until(lambda: desk.face.started)
    stored = settings(tmp_path)
    assert (stored["defaultProvider"], stored["defaultModel"]) == ("ollama", "other")
    async with opened(tmp_path, model=None) as desk:
        model = desk.runtime.session.model
        assert model is not None
        assert (model.key, model.compat) == ("ollama/other", {"supportsStore": False, "maxTokensField": "max_tokens"})


async def test_a_no_is_remembered_and_nobody_asks_again(tmp_path: Path) -> None:
    async with opened(tmp_path, model=None, ready=False) as desk:
        await desk.see(QUESTION)
        desk.key("down", "down", "enter")
        await desk.see("No model can be used yet")
    assert settings(tmp_path)["piolet"]["localServers"] is False
    async with opened(tmp_path, model=None) as desk:
        await desk.see("No model can be used yet")
        assert QUESTION not in desk.text


async def test_a_question_that_is_dismissed_is_put_again(tmp_path: Path) -> None:
    for _ in range(2):
        async with opened(tmp_path, model=None, ready=False) as desk:
            await desk.see(QUESTION)
            desk.key("escape")
            await desk.see("No model can be used yet")


async def test_nothing_is_asked_of_who_has_a_model(tmp_path: Path) -> None:
    place = Place.below(tmp_path)
    place.write_models("http://127.0.0.1:9")
    async with opened(tmp_path, model=None) as desk:
        assert desk.runtime.session.model is not None
        assert QUESTION not in desk.text
