"""The providers of the catalogue whose addresses and credentials are more than a key, as their users set them up."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from piolet.llm.messages import AssistantMessage
from piolet.llm.models import Models
from tests.llm.wire import ask, aws, sse
from tests.support.server import Reply, Request, ScriptedServer

DONE = {"type": "response.completed", "response": {"status": "completed", "output": []}}
ENDED = {"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}
FINISHED = {"id": "c", "choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}


def reply(request: Request) -> Reply:
    """Answer in the protocol that the path tells."""
    if request.path.endswith("/converse-stream"):
        headers = {"content-type": "application/vnd.amazon.eventstream"}
        body = aws(("messageStop", {"stopReason": "end_turn"}), ("metadata", {"usage": {}}))
        return {"headers": headers, "stream": [{"raw": body}]}
    record = DONE if "/responses" in request.path else ENDED if "GenerateContent" in request.path else FINISHED
    return {"stream": [{"raw": sse(record)}]}


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Any]:
    """Make models of a provider whose address is a server of the test."""
    made: list[Models] = []

    def models(provider: str, base_url: str, **environ: str) -> Models:
        if base_url:
            (tmp_path / "models.json").write_text(json.dumps({"providers": {provider: {"baseUrl": base_url}}}))
        made.append(Models.open(tmp_path, environ=environ))
        return made[-1]

    yield models
    for one in made:
        await one.aclose()


async def asked(models: Models, provider: str, model_id: str) -> AssistantMessage:
    model = models.find(provider, model_id)
    assert model is not None
    assert models.has_configured_auth(provider)
    return await models.complete(model, ask())


@pytest.mark.parametrize(
    ("provider", "model_id", "suffix", "environ", "path", "header"),
    [
        ("openai", "gpt-5.5", "/v1", {"OPENAI_API_KEY": "k"}, "/v1/responses", ("authorization", "Bearer k")),
        (
            "azure",
            "gpt-5.4",
            "/openai/v1",
            {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "gpt-5.4=mine"},
            "/openai/v1/responses?api-version=v1",
            ("api-key", "k"),
        ),
        (
            "azure",
            "deepseek-v4-pro",
            "/openai/v1",
            {"AZURE_OPENAI_API_KEY": "k"},
            "/openai/v1/chat/completions",
            ("authorization", "Bearer k"),
        ),
        (
            "google",
            "gemini-2.5-pro",
            "/v1beta",
            {"GEMINI_API_KEY": "k"},
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "k"),
        ),
        (
            "google-vertex",
            "gemini-2.5-pro",
            "",
            {"GOOGLE_CLOUD_API_KEY": "k"},
            "/v1/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "k"),
        ),
        (
            "amazon-bedrock",
            "us.anthropic.claude-opus-5-5",
            "",
            {"AWS_BEARER_TOKEN_BEDROCK": "k"},
            "/model/us.anthropic.claude-opus-5-5/converse-stream",
            ("authorization", "Bearer k"),
        ),
        (
            "mistral",
            "devstral-medium-latest",
            "",
            {"MISTRAL_API_KEY": "k"},
            "/v1/chat/completions",
            ("authorization", "Bearer k"),
        ),
    ],
)
async def test_a_key_in_the_environment_is_enough(
    opened: Any, provider: str, model_id: str, suffix: str, environ: dict[str, str], path: str, header: tuple[str, str]
) -> None:
    with ScriptedServer(reply) as server:
        message = await asked(opened(provider, server.url + suffix, **environ), provider, model_id)
    assert (message.error_message, message.stop_reason) == (None, "stop")
    [request] = server.requests
    assert request.path == path
    assert request.headers[header[0]] == header[1]
    assert request.body.get("model") in (None, "mine", model_id)


async def test_keys_of_aws_sign(opened: Any) -> None:
    pytest.importorskip("botocore")
    keys = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE000000000", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1"}
    with ScriptedServer(reply) as server:
        models = opened("amazon-bedrock", server.url, **keys)
        message = await asked(models, "amazon-bedrock", "eu.anthropic.claude-opus-4-8")
    assert message.error_message is None
    assert "Credential=AKIDEXAMPLE000000000/" in server.requests[0].headers["authorization"]
    assert "/eu-west-1/bedrock/" in server.requests[0].headers["authorization"]


async def test_azure_without_an_address_says_what_to_set(opened: Any) -> None:
    message = await asked(opened("azure", "", AZURE_OPENAI_API_KEY="k"), "azure", "gpt-5.4")
    assert "AZURE_OPENAI_RESOURCE_NAME" in (message.error_message or "")
