"""Where a request to Bedrock goes and how it is signed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from piolet.llm.messages import AssistantMessage
from piolet.llm.model import StreamOptions
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import protocol_for
from piolet.llm.transport import run_request
from tests.llm.wire import ask, aws, model_at
from tests.support.server import Request, ScriptedServer

API = "bedrock-converse-stream"
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE000000000",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
}
PROFILES = """\
[default]
region = ap-south-1
[profile work]
region = sa-east-1
aws_access_key_id = AKIDPROFILE000000000
aws_secret_access_key = secret-of-the-profile
"""
ANSWER = aws(
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "hello"}}),
    ("messageStop", {"stopReason": "end_turn"}),
    ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}}),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials and no region but those of the test."""
    for name in ("REGION", "DEFAULT_REGION", "PROFILE", "BEARER_TOKEN_BEDROCK", *(name[4:] for name in KEYS)):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(f"AWS_{name}", str(tmp_path / name))
    (tmp_path / "CONFIG_FILE").write_text(PROFILES)


EAST = "https://bedrock-runtime.us-east-1.amazonaws.com"
ARN = "arn:aws:bedrock:ca-central-1:123456789012:application-inference-profile/abc"


@pytest.mark.parametrize(
    ("model_id", "base_url", "env", "host"),
    [
        ("m", EAST, {}, EAST),
        ("m", "", {}, EAST),
        (
            "m",
            "https://bedrock-runtime.eu-central-1.amazonaws.com/",
            {},
            "https://bedrock-runtime.eu-central-1.amazonaws.com",
        ),
        ("m", EAST, {"AWS_REGION": "r-1", "AWS_DEFAULT_REGION": "r-2"}, "https://bedrock-runtime.r-1.amazonaws.com"),
        ("m", EAST, {"AWS_DEFAULT_REGION": "r-2"}, "https://bedrock-runtime.r-2.amazonaws.com"),
        ("m", EAST, {"AWS_PROFILE": "work"}, "https://bedrock-runtime.sa-east-1.amazonaws.com"),
        ("m", EAST, {"AWS_PROFILE": "default"}, "https://bedrock-runtime.ap-south-1.amazonaws.com"),
        ("m", EAST, {"AWS_PROFILE": "unknown"}, EAST),
        ("m", EAST, {"AWS_REGION": "cn-north-1"}, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        (ARN, EAST, {"AWS_REGION": "r-1"}, "https://bedrock-runtime.ca-central-1.amazonaws.com"),
        (
            "m",
            "https://bedrock-runtime-fips.us-west-2.amazonaws.com",
            {"AWS_REGION": "r-1"},
            "https://bedrock-runtime-fips.r-1.amazonaws.com",
        ),
        ("m", "https://proxy.example/aws", {"AWS_REGION": "r-1"}, "https://proxy.example/aws"),
    ],
)
def test_regions(model_id: str, base_url: str, env: dict[str, str], host: str) -> None:
    model = model_at(base_url, API, id=model_id)
    url = protocol_for(API).request(model, ask(), StreamOptions(env=env)).url
    path = model_id.replace(":", "%3A").replace("/", "%2F")
    assert url == f"{host}/model/{path}/converse-stream"


async def asked(pool: HttpPool, model_id: str = "m:0", **options: Any) -> tuple[AssistantMessage, list[Request]]:
    reply = {"headers": {"content-type": "application/vnd.amazon.eventstream"}, "stream": [{"raw": ANSWER}]}
    with ScriptedServer([reply]) as server:
        model = model_at(server.url, API, id=model_id)
        message = await run_request(model, ask(), StreamOptions(**options), pool).result()
    return message, server.requests


def signed_by_botocore(request: Request, env: dict[str, str], region: str) -> str:
    """Return the authorization that botocore gives to a request with the same date."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    token = env.get("AWS_SESSION_TOKEN")
    auth = SigV4Auth(Credentials(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], token), "bedrock", region)
    told = {"content-type": "application/json", "x-amz-date": request.headers["x-amz-date"]}
    told |= {"x-amz-security-token": token} if token else {}
    url = f"http://{request.headers['host']}{request.path}"
    again = AWSRequest(method="POST", url=url, data=request.content, headers=told)
    again.context["timestamp"] = request.headers["x-amz-date"]
    return str(auth._inject_signature_to_request(again, _signature(auth, again)).headers["Authorization"])


def _signature(auth: Any, request: Any) -> str:
    return str(auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request))


@pytest.mark.parametrize("session", [{}, {"AWS_SESSION_TOKEN": "token-of-the-session"}])
async def test_what_was_sent_is_what_was_signed(pool: HttpPool, session: dict[str, str]) -> None:
    pytest.importorskip("botocore")
    env = {**KEYS, **session, "AWS_REGION": "eu-west-1"}
    message, [request] = await asked(pool, env=env)
    assert (message.error_message, message.text) == (None, "hello")
    assert request.path == "/model/m%3A0/converse-stream"
    sent = request.headers["authorization"]
    assert f"Credential={KEYS['AWS_ACCESS_KEY_ID']}/" in sent
    assert "/eu-west-1/bedrock/aws4_request" in sent
    assert request.headers.get("x-amz-security-token") == session.get("AWS_SESSION_TOKEN")
    assert sent == signed_by_botocore(request, env, "eu-west-1")


async def test_the_profile_of_the_process_signs(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_PROFILE", "work")
    _, [request] = await asked(pool)
    assert "Credential=AKIDPROFILE000000000/" in request.headers["authorization"]
    assert "/sa-east-1/bedrock/" in request.headers["authorization"]


async def test_the_profile_of_the_provider_signs(pool: HttpPool) -> None:
    pytest.importorskip("botocore")
    _, [request] = await asked(pool, env={"AWS_PROFILE": "work"})
    assert "Credential=AKIDPROFILE000000000/" in request.headers["authorization"]


@pytest.mark.parametrize("options", [{"api_key": "tok"}, {"env": {**KEYS, "AWS_BEARER_TOKEN_BEDROCK": "tok"}}])
async def test_a_bearer_token_needs_no_signature(pool: HttpPool, options: dict[str, Any]) -> None:
    message, [request] = await asked(pool, **options)
    assert message.text == "hello"
    assert request.headers["authorization"] == "Bearer tok"
    assert request.headers["accept"] == "application/vnd.amazon.eventstream"
    assert "x-amz-date" not in request.headers


async def test_signing_can_be_left_to_a_proxy(pool: HttpPool) -> None:
    message, [request] = await asked(pool, env={**KEYS, "AWS_BEDROCK_SKIP_AUTH": "1"})
    assert message.text == "hello"
    assert "authorization" not in request.headers


async def test_without_credentials_the_message_says_what_to_set(pool: HttpPool) -> None:
    pytest.importorskip("botocore")
    message, requests = await asked(pool)
    assert "AWS_BEARER_TOKEN_BEDROCK" in (message.error_message or "")
    assert requests == []


async def test_an_unknown_profile_is_named(pool: HttpPool) -> None:
    pytest.importorskip("botocore")
    message, _ = await asked(pool, env={"AWS_PROFILE": "unknown"})
    assert "unknown" in (message.error_message or "")


async def test_without_the_extra_the_message_names_it(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    message, requests = await asked(pool, env=KEYS)
    assert "pip install 'piolet[bedrock]'" in (message.error_message or "")
    assert requests == []


async def test_no_secret_reaches_an_error(pool: HttpPool) -> None:
    pytest.importorskip("botocore")

    def echo(request: Request) -> dict[str, Any]:
        told = " ".join(request.headers.values())
        return {"status": 403, "json": {"message": f"The signature does not match: {told}"}}

    env = {**KEYS, "AWS_SESSION_TOKEN": "token-of-the-session"}
    with ScriptedServer(echo) as server:
        message = await run_request(model_at(server.url, API), ask(), StreamOptions(env=env), pool).result()
    assert "The signature does not match" in (message.error_message or "")
    assert "token-of-the-session" not in (message.error_message or "")
