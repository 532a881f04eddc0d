"""`Models`: looking up, registering, credentials, asking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from piolet.base.abort import AbortController
from piolet.base.ids import now_ms
from piolet.llm import protocols
from piolet.llm.catalog import BuiltinCatalog
from piolet.llm.credentials.errors import LoginError
from piolet.llm.credentials.records import ApiKeyCredential, Credential, OAuthCredential
from piolet.llm.credentials.store import MemoryCredentials
from piolet.llm.events import AssistantEvent, DoneEvent, StartEvent
from piolet.llm.messages import NO_USAGE, AssistantMessage, TextContent
from piolet.llm.model import Context, Model, ModelCost, StreamOptions
from piolet.llm.models import Models
from piolet.llm.oauth.login import LoginUI
from piolet.llm.provider_config import ConfigError
from piolet.llm.provider_table import BUILTIN_PROVIDERS
from piolet.llm.stream import AssistantStream
from tests.support.replies import openai
from tests.support.server import ScriptedServer

Seen = list[tuple[Model, StreamOptions]]


def model(provider: str, model_id: str, **fields: Any) -> Model:
    defaults = {"api": "openai-completions", "base_url": "https://x.example/v1", "reasoning": False}
    limits = {"input": ["text"], "cost": ModelCost(), "context_window": 1000, "max_tokens": 100}
    return Model(id=model_id, name=model_id, provider=provider, **{**defaults, **limits, **fields})


def answering(seen: Seen) -> Any:
    """A stream function that notes what it was asked and says "hello"."""

    def stream(asked: Model, context: Context, options: StreamOptions) -> AssistantStream:
        seen.append((asked, options))
        message = AssistantMessage([TextContent("hello")], asked.api, asked.provider, asked.id, NO_USAGE, "stop", 0)

        async def events() -> AsyncGenerator[AssistantEvent, None]:
            yield DoneEvent("stop", message)

        return AssistantStream(events(), lambda: message)

    return stream


def with_file(tmp_path: Path, providers: Any, environ: dict[str, str] | None = None) -> Models:
    text = providers if isinstance(providers, str) else json.dumps({"providers": providers})
    (tmp_path / "models.json").write_text(text)
    return Models.open(tmp_path, environ=environ or {})


class TwoModels:
    """A catalogue of one's own."""

    def providers(self) -> list[str]:
        return ["a", "b"]

    def models(self, provider: str) -> list[Model]:
        return [model(provider, "x")] if provider in ("a", "b") else []


def test_a_model_is_found_by_provider_and_id_only() -> None:
    models = Models(catalog=TwoModels(), environ={})
    assert models.find("b", "x") == model("b", "x")
    assert models.find("b", "y") is None
    assert models.find("nowhere", "x") is None
    assert [found.key for found in models.get_all()] == ["a/x", "b/x"]


def test_only_models_with_credentials_are_available() -> None:
    models = Models(environ={"GROQ_API_KEY": "k"})
    assert {found.provider for found in models.get_available()} == {"groq"}
    assert models.has_configured_auth("groq")
    assert not models.has_configured_auth("anthropic")
    assert models.auth_status("groq").source == "environment variable GROQ_API_KEY"


def test_a_provider_whose_protocol_nobody_here_speaks_is_not_offered_before_an_extension_does() -> None:
    login = OAuthCredential("a", "r", now_ms() + 3_600_000)
    models = Models(credentials=MemoryCredentials({"openai-codex": login}), environ={"GROQ_API_KEY": "k"})
    default = models.start_default()
    assert default is not None
    assert default.provider == "groq"
    assert {found.provider for found in models.get_available()} == {"groq"}
    models.register_provider("openai-codex", stream=answering([]))
    default = models.start_default()
    assert default is not None
    assert default.provider == "openai-codex"


def test_every_built_in_protocol_is_ours_or_foreign() -> None:
    for builtin in BUILTIN_PROVIDERS.values():
        assert [api for api in builtin.apis if api not in protocols._MODULES] == [*builtin.apis] * builtin.foreign


def test_two_instances_in_one_process_share_nothing() -> None:
    one = Models(credentials=MemoryCredentials({"groq": ApiKeyCredential("one")}), environ={})
    two = Models(environ={})
    one.register_provider("mine", models=[model("mine", "m")])
    one.set_runtime_key("openai", "k")
    assert one.has_configured_auth("groq")
    assert not two.has_configured_auth("groq")
    assert two.find("mine", "m") is None
    assert not two.has_configured_auth("openai")


async def test_a_registered_stream_function_answers_and_gets_the_credentials() -> None:
    seen: Seen = []
    models = Models(environ={"TOKEN": "t"})
    config = {"baseUrl": "https://mine.example", "api": "mine", "apiKey": "$TOKEN", "models": [{"id": "m"}]}
    models.register_provider("mine", config, stream=answering(seen))
    found = models.find("mine", "m")
    assert found is not None
    message = await models.complete(found, Context([]), StreamOptions(headers={"X-Own": "1"}))
    assert message.text == "hello"
    asked, options = seen[0]
    assert (asked.base_url, options.api_key, options.headers) == ("https://mine.example", "t", {"x-own": "1"})


async def test_a_registered_stream_function_needs_no_credentials() -> None:
    seen: Seen = []
    models = Models(environ={})
    models.register_provider("demo", models=[model("demo", "scripted")], stream=answering(seen))
    assert [found.key for found in models.get_available()] == ["demo/scripted"]
    assert (await models.complete(model("demo", "scripted"), Context([]))).text == "hello"
    assert seen[0][1].api_key is None


class AcmeLogin:
    name = "Acme"

    async def login(self, ui: LoginUI) -> Credential:
        raise LoginError("Nobody is there")

    async def renew(self, credential: OAuthCredential) -> OAuthCredential:
        return OAuthCredential("renewed", credential.refresh, now_ms() + 3_600_000)


async def test_a_registered_stream_function_with_a_login_waits_for_it() -> None:
    seen: Seen = []
    models = Models(environ={})
    models.register_provider("acme", models=[model("acme", "big")], stream=answering(seen), login=AcmeLogin())
    assert not models.has_configured_auth("acme")
    failed = await models.stream(model("acme", "big"), Context([])).result()
    assert (failed.stop_reason, seen) == ("error", [])
    models.credentials.set("acme", OAuthCredential("old", "refresh", 1))
    assert models.has_configured_auth("acme")
    assert (await models.complete(model("acme", "big"), Context([]))).text == "hello"
    assert seen[0][1].api_key == "renewed"


def test_a_provider_that_is_taken_back_is_as_before() -> None:
    models = Models(environ={})
    before = models.find("groq", "openai/gpt-oss-120b")
    models.register_provider("groq", {"baseUrl": "https://proxy.example"})
    changed = models.find("groq", "openai/gpt-oss-120b")
    assert changed is not None
    assert changed.base_url == "https://proxy.example"
    models.unregister_provider("groq")
    assert models.find("groq", "openai/gpt-oss-120b") == before


def test_a_registration_that_says_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="mine"):
        Models(environ={}).register_provider("mine", {})


async def test_missing_credentials_are_an_answer_that_says_what_to_do() -> None:
    models = Models(environ={})
    found = models.find("groq", "openai/gpt-oss-120b")
    assert found is not None
    stream = models.stream(found, Context([]))
    assert stream.partial.stop_reason == "pending"
    message = await stream.result()
    assert message.stop_reason == "error"
    assert "GROQ_API_KEY" in str(message.error_message)
    assert "piolet auth login groq" in str(message.error_message)


def test_the_start_default_is_the_first_providers_that_has_credentials() -> None:
    models = Models(environ={"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"})
    assert (start := models.start_default()) is not None
    assert start.key == "openai/gpt-6.2-sol"
    assert Models(environ={}).start_default() is None
    mine = Models(environ={})
    mine.register_provider("mine", models=[model("mine", "m")], stream=answering([]))
    assert mine.start_default() == model("mine", "m")


def test_every_built_in_default_is_in_the_catalogue() -> None:
    catalog = BuiltinCatalog()
    for provider in BUILTIN_PROVIDERS.values():
        assert provider.default_model in {found.id for found in catalog.models(provider.id)}, provider.id
        assert {found.api for found in catalog.models(provider.id)} <= set(provider.apis), provider.id
    assert set(catalog.providers()) == set(BUILTIN_PROVIDERS)


async def test_a_request_goes_where_the_configuration_says_with_its_headers(tmp_path: Path) -> None:
    with ScriptedServer([openai("hello")]) as server:
        custom = {"api": "openai-completions", "apiKey": "$TOKEN", "headers": {"X-A": "a-$TOKEN", "X-B": "b"}}
        provider = {**custom, "baseUrl": f"{server.url}/{{PLACE}}/v1", "models": [{"id": "m"}]}
        models = with_file(tmp_path, {"mine": provider}, {"TOKEN": "t", "PLACE": "here"})
        found = models.find("mine", "m")
        assert found is not None
        message = await models.complete(found, Context([]), StreamOptions(headers={"x-b": None}))
        await models.aclose()
    assert (message.text, message.stop_reason) == ("hello", "stop")
    [request] = server.requests
    assert request.path == "/here/v1/chat/completions"
    assert (request.headers["authorization"], request.headers["x-a"]) == ("Bearer t", "a-t")
    assert "x-b" not in request.headers


async def test_a_provider_that_wants_the_session_in_a_header_gets_it() -> None:
    seen: Seen = []
    models = Models(environ={"OPENCODE_API_KEY": "k"})
    models.register_provider("opencode", stream=answering(seen))
    found = models.find("opencode", "kimi-k2.7-code")
    assert found is not None
    await models.complete(found, Context([]), StreamOptions(session_id="s1"))
    assert seen[0][1].headers == {"x-opencode-session": "s1"}


async def test_an_abort_before_the_key_is_there_ends_the_stream(tmp_path: Path) -> None:
    models = with_file(tmp_path, {"mine": {"baseUrl": "http://x", "api": "a", "apiKey": "!sleep 60; echo k"}})
    abort = AbortController()
    asyncio.get_running_loop().call_later(0.1, abort.abort)
    async with asyncio.timeout(20):
        message = await models.complete(model("mine", "m"), Context([]), StreamOptions(signal=abort.signal))
    assert message.stop_reason == "aborted"


async def test_a_stream_that_is_closed_closes_the_one_below() -> None:
    closed = []

    def stream(asked: Model, context: Context, options: StreamOptions) -> AssistantStream:
        async def events() -> AsyncGenerator[AssistantEvent, None]:
            try:
                yield StartEvent()
                await asyncio.sleep(60)
            finally:
                closed.append(True)

        return AssistantStream(events(), lambda: pytest.fail("nobody asks"))

    models = Models(environ={})
    models.register_provider("mine", models=[model("mine", "m")], stream=stream)
    handle = models.stream(model("mine", "m"), Context([]))
    async for _ in handle:
        break
    await handle.aclose()
    assert closed == [True]
