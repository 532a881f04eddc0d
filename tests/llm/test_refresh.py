"""The lists of models that providers publish: read, stored, laid over the packaged ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

from piolet.llm.catalog import BuiltinCatalog
from piolet.llm.catalog.listing import from_copilot, from_openrouter
from piolet.llm.catalog.overlay import OverlaidCatalog
from piolet.llm.catalog.refresh import refresh_models, refreshable
from piolet.llm.errors import LlmError, RequestError
from piolet.llm.models import Models

KNOWN = BuiltinCatalog().models("openrouter")[0]
PRICES = {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002"}


class ListServer:
    """Answers ``GET /v1/models`` with `answer`, remembering its headers, and ``GET /catalog`` with `catalog`."""

    def __init__(self) -> None:
        self.status, self.answer, self.catalog = 200, b"{}", b"[]"
        self.asked: list[Mapping[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listing = self.path == "/v1/models"
                if listing:
                    server.asked.append(self.headers)
                answer = server.answer if listing else server.catalog
                self.send_response(server.status if listing else 200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def server() -> Iterator[ListServer]:
    found = ListServer()
    with found.http:
        Thread(target=found.http.serve_forever, args=(0.01,)).start()
        yield found
        found.http.shutdown()


def with_provider(tmp_path: Path, url: str, **more: Any) -> Models:
    custom = {"baseUrl": url, "api": "openai-completions", "apiKey": "k", **more}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"org/mine": custom}}))
    return Models.open(tmp_path, environ={})


async def test_a_provider_that_names_no_models_is_asked_for_them(tmp_path: Path, server: ListServer) -> None:
    server.answer = json.dumps({"data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}]}).encode()
    models = with_provider(tmp_path, server.url, compat={"supportsStore": False})
    assert refreshable(models) == ["org/mine"]
    assert await refresh_models(models) == {"org/mine": 2}
    await models.aclose()
    assert [headers["authorization"] for headers in server.asked] == ["Bearer k"]
    later = Models.open(tmp_path, environ={})
    for found in (models.find("org/mine", "a"), later.find("org/mine", "a")):
        assert found is not None
        assert (found.base_url, found.context_window) == (server.url, 4096)
        assert found.compat == {"supportsStore": False}


def test_a_provider_that_names_its_models_is_not_asked(tmp_path: Path) -> None:
    assert refreshable(with_provider(tmp_path, "http://127.0.0.1:9/v1", models=[{"id": "m"}])) == []
    assert refreshable(Models(environ={"OPENROUTER_API_KEY": "k"})) == ["openrouter"]
    assert refreshable(Models(environ={"COPILOT_GITHUB_TOKEN": "k"})) == ["github-copilot"]


@pytest.mark.parametrize(
    ("status", "answer"), [(401, b'{"error": "no"}'), (200, b"<html>"), (200, b"[]"), (200, b"[" * 100_000)]
)
async def test_a_list_that_cannot_be_had_changes_nothing(
    tmp_path: Path, server: ListServer, status: int, answer: bytes
) -> None:
    server.answer = json.dumps({"data": [{"id": "a"}]}).encode()
    models = with_provider(tmp_path, server.url)
    await refresh_models(models)
    server.status, server.answer = status, answer
    results = await refresh_models(models)
    await models.aclose()
    assert isinstance(results["org/mine"], Exception)
    assert models.find("org/mine", "a")


async def test_the_list_is_asked_for_with_the_headers_of_the_provider(tmp_path: Path, server: ListServer) -> None:
    server.status, server.answer = 403, b"no entry for Tok-en-123"
    models = with_provider(tmp_path, server.url, apiKey="unused", headers={"Authorization": "Tok-en-123", "X-A": "b"})
    results = await refresh_models(models)
    await models.aclose()
    assert [(headers["authorization"], headers["x-a"]) for headers in server.asked] == [("Tok-en-123", "b")]
    assert str(results["org/mine"]) == "403: no entry for ***"


async def test_a_catalogue_is_laid_over_the_packaged_models_and_below_the_lists(
    tmp_path: Path, server: ListServer
) -> None:
    first = BuiltinCatalog().models("groq")[0]
    published = [
        msgspec.structs.replace(first, context_window=7),
        msgspec.structs.replace(first, id="new", headers={"x": "y"}),
        msgspec.structs.replace(first, provider="nobody"),
        msgspec.structs.replace(first, provider="org/mine", id="a", context_window=8, name="A"),
        msgspec.structs.replace(first, provider="org/mine", id="c"),
    ]
    server.catalog = msgspec.json.encode(published)
    server.answer = json.dumps({"data": [{"id": "a", "max_model_len": 4096}]}).encode()
    models = with_provider(tmp_path, server.url)
    results = await refresh_models(models, catalog_url=server.url.replace("/v1", "/catalog"))
    await models.aclose()
    assert results == {"groq": 2, "org/mine": 2}
    changed = models.find("groq", first.id)
    assert changed is not None
    assert changed.context_window == 7
    assert models.find("groq", "new") is not None
    assert models.get_provider("nobody") is None
    assert {model.id: model.context_window for model in models.provider_models("org/mine")}["a"] == 4096
    assert models.find("org/mine", "c") is not None


@pytest.mark.parametrize("catalog", [b"<html>", b'{"data": []}', b'[{"id": "a"}]'])
async def test_a_catalogue_that_is_none_changes_nothing_and_is_told(
    tmp_path: Path, server: ListServer, catalog: bytes
) -> None:
    server.catalog = catalog
    url = server.url.replace("/v1", "/catalog")
    models = Models.open(tmp_path, environ={})
    results = await refresh_models(models, catalog_url=url)
    await models.aclose()
    assert [*results] == [url]
    assert isinstance(results[url], Exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["http://[", "nonsense", "ftp://x", "http://h:99999999"])
async def test_an_address_that_is_none_is_an_error_in_words(tmp_path: Path, url: str) -> None:
    models = with_provider(tmp_path, url)
    results = await refresh_models(models, catalog_url=f"https{url.removeprefix('http')}")
    await models.aclose()
    assert len(results) == 2
    assert all(isinstance(result, LlmError) for result in results.values())


async def test_a_catalogue_comes_over_https_or_from_this_machine(tmp_path: Path) -> None:
    results = await refresh_models(Models.open(tmp_path, environ={}), catalog_url="http://models.example/list")
    assert "https" in str(results["http://models.example/list"])


def test_openrouter_tells_prices_per_token_and_only_models_with_tools_count() -> None:
    tools = {"supported_parameters": ["tools", "reasoning"], "pricing": PRICES, "context_length": 500}
    entries = [
        {"id": KNOWN.id, "name": "Known", **tools, "top_provider": {"max_completion_tokens": 7}},
        {"id": "new/one", "architecture": {"input_modalities": ["image", "text", "file"]}, **tools},
        {"id": "new/chatter", "supported_parameters": ["temperature"]},
    ]
    known, new = from_openrouter({"data": entries}, [KNOWN])
    assert (known.name, known.context_window, known.max_tokens) == ("Known", 500, 7)
    assert (known.cost.input, known.cost.output, known.cost.cache_read) == (2, 10, 0.2)
    assert (known.api, known.compat, known.thinking_level_map) == (KNOWN.api, KNOWN.compat, KNOWN.thinking_level_map)
    assert (new.api, new.reasoning, list(new.input), new.max_tokens) == (
        "openai-completions",
        True,
        ["text", "image"],
        500,
    )


@pytest.mark.parametrize("entry", [{"pricing": [1]}, {"context_length": "long"}, {"supported_parameters": 5}])
def test_a_list_of_another_form_is_an_error_in_words(entry: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="another form"):
        from_openrouter({"data": [{"id": "a", "supported_parameters": ["tools"], **entry}]}, [])


def test_copilot_lists_what_an_account_may_choose_with_its_limits() -> None:
    packaged = BuiltinCatalog().models("github-copilot")[0]
    limits = {"max_context_window_tokens": 90_000, "max_output_tokens": 8_000}
    usable = {"supports": {"tool_calls": True, "vision": True, "reasoning_effort": ["low"]}, "limits": limits}
    offered = {"model_picker_enabled": True, "policy": {"state": "enabled"}, "capabilities": usable}
    entries = [
        {"id": packaged.id, **offered},
        {"id": "new", "name": "New", "supported_endpoints": ["/chat/completions", "/responses"], **offered},
        {"id": "plain", "model_picker_enabled": True, "capabilities": {"supports": {"tool_calls": True}}},
        {"id": "hidden", **offered, "model_picker_enabled": False},
        {"id": "forbidden", **offered, "policy": {"state": "disabled"}},
        {"id": "no-tools", **offered, "capabilities": {"supports": {}}},
    ]
    known, new, plain = from_copilot({"data": entries}, [packaged], "https://copilot.example")
    assert known == msgspec.structs.replace(packaged, context_window=90_000, max_tokens=8_000)
    assert (new.id, new.api, new.base_url) == ("new", "openai-responses", "https://copilot.example")
    assert (new.name, new.input, new.reasoning, new.context_window) == ("New", ["text", "image"], True, 90_000)
    assert (plain.api, plain.input, plain.reasoning) == ("openai-completions", ["text"], False)
    with pytest.raises(RequestError, match="another form"):
        from_copilot({"data": [{"id": "a", "capabilities": 1, "model_picker_enabled": True}]}, [], "")


async def test_copilot_is_asked_where_its_login_says(tmp_path: Path, server: ListServer) -> None:
    entry = {"id": "new", "model_picker_enabled": True, "capabilities": {"supports": {"tool_calls": True}}}
    server.answer = json.dumps({"data": [entry]}).encode()
    configured = {"providers": {"github-copilot": {"baseUrl": server.url}}}
    (tmp_path / "models.json").write_text(json.dumps(configured))
    models = Models.open(tmp_path, environ={"COPILOT_GITHUB_TOKEN": "t"})
    assert await refresh_models(models) == {"github-copilot": 1}
    await models.aclose()
    assert [headers["authorization"] for headers in server.asked] == ["Bearer t"]
    found = models.find("github-copilot", "new")
    assert found is not None
    assert found.base_url == server.url


@pytest.mark.parametrize("text", [b"{oops", b"[]", b'{"version": "0", "models": []}', b'{"version": 1}'])
def test_a_damaged_or_old_file_does_not_count(tmp_path: Path, text: bytes) -> None:
    catalog = OverlaidCatalog(BuiltinCatalog(), tmp_path)
    catalog.store("groq", [])
    [file] = tmp_path.iterdir()
    file.write_bytes(text)
    assert catalog.models("groq") == list(BuiltinCatalog().models("groq"))


def test_a_listed_model_goes_before_the_packaged_one_and_stays_private(tmp_path: Path) -> None:
    catalog = OverlaidCatalog(BuiltinCatalog(), tmp_path)
    first = BuiltinCatalog().models("groq")[0]
    catalog.store("groq", [msgspec.structs.replace(first, context_window=7)])
    assert next(model for model in catalog.models("groq") if model.id == first.id).context_window == 7
    assert len(catalog.models("groq")) == len(BuiltinCatalog().models("groq"))
    [file] = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
