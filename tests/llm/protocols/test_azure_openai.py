"""OpenAI's models at Azure: address, version, deployment, key."""

from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.errors import RequestError
from piolet.llm.model import StreamOptions, ToolSpec
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import WireRequest, protocol_for
from piolet.llm.transport import run_request
from tests.llm.wire import ask, model_at, sse
from tests.support.server import ScriptedServer

RESPONSES = "azure-openai-responses"
STRICT = ToolSpec("t", "d", {"type": "object", "properties": {}}, {"type": "json_schema", "strict": "prefer"})


def request(base_url: str = "", api: str = RESPONSES, **env: str) -> WireRequest:
    model = model_at(base_url, api, provider="azure", reasoning=True)
    return protocol_for(api).request(model, ask(tools=[STRICT]), StreamOptions(api_key="k", session_id="s", env=env))


@pytest.mark.parametrize(
    ("base_url", "env", "url"),
    [
        ("", {"AZURE_OPENAI_RESOURCE_NAME": "acme"}, "https://acme.openai.azure.com/openai/v1"),
        ("https://m.example/v1/", {}, "https://m.example/v1"),
        ("https://m.example/v1", {"AZURE_OPENAI_RESOURCE_NAME": "acme"}, "https://acme.openai.azure.com/openai/v1"),
        ("", {"AZURE_OPENAI_BASE_URL": "https://a.openai.azure.com"}, "https://a.openai.azure.com/openai/v1"),
        ("", {"AZURE_OPENAI_BASE_URL": "https://a.ai.azure.com/openai/"}, "https://a.ai.azure.com/openai/v1"),
        (
            "",
            {"AZURE_OPENAI_BASE_URL": "https://a.cognitiveservices.azure.com/openai/v1/responses"},
            "https://a.cognitiveservices.azure.com/openai/v1",
        ),
        (
            "",
            {"AZURE_OPENAI_BASE_URL": "https://a.openai.azure.com/openai/other"},
            "https://a.openai.azure.com/openai/other",
        ),
        ("", {"AZURE_OPENAI_BASE_URL": "https://proxy.example/openai"}, "https://proxy.example/openai"),
    ],
)
def test_addresses(base_url: str, env: dict[str, str], url: str) -> None:
    assert request(base_url, **env).url == f"{url}/responses?api-version=v1"
    assert request(base_url, "openai-completions", **env).url == f"{url}/chat/completions"


def test_without_an_address_the_message_says_what_to_set() -> None:
    with pytest.raises(RequestError, match="AZURE_OPENAI_RESOURCE_NAME"):
        request()


def test_the_version_and_the_name_of_the_deployment() -> None:
    names = {"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "other=x, m1 = mine", "AZURE_OPENAI_API_VERSION": "2025-04-01"}
    sent = request("https://m.example", **names)
    assert sent.url.endswith("?api-version=2025-04-01")
    assert sent.body["model"] == "mine"
    assert request("https://m.example", "openai-completions", **names).body["model"] == "mine"
    assert request("https://m.example", AZURE_OPENAI_DEPLOYMENT_NAME_MAP="other=x").body["model"] == "m1"


def test_the_key_has_a_header_of_its_own_and_tools_are_strict() -> None:
    sent = request("https://m.example")
    assert sent.headers == {"api-key": "k"}
    assert sent.body["tools"][0]["strict"] is True


async def test_an_answer(pool: HttpPool) -> None:
    item: dict[str, Any] = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "hello"}]}
    body = sse(
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed", "model": "gpt"}},
    )
    with ScriptedServer([{"stream": [{"raw": body}]}]) as server:
        model = model_at(f"{server.url}/openai/v1", RESPONSES, provider="azure")
        message = await run_request(model, ask(), StreamOptions(api_key="k"), pool).result()
    assert (message.text, message.stop_reason) == ("hello", "stop")
    assert server.requests[0].path == "/openai/v1/responses?api-version=v1"
    assert server.requests[0].headers["api-key"] == "k"
