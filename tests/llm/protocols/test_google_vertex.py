"""Google's models on Vertex AI: addresses, and the application default credentials."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from piolet.llm.errors import RequestError
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import Model, StreamOptions
from piolet.llm.pool import HttpPool
from piolet.llm.protocols import WireRequest, protocol_for
from piolet.llm.transport import run_request
from tests.llm.wire import ask, model_at, sse
from tests.support.server import Reply, Request, ScriptedServer

API = "google-vertex"
HOSTS = "https://{location}-aiplatform.googleapis.com"
PLACE = {"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
SAID = {"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}


def gemini(base_url: str = HOSTS) -> Model:
    return model_at(base_url, API, id="gemini-3-flash")


def request(base_url: str = HOSTS, **options: Any) -> WireRequest:
    return protocol_for(API).request(gemini(base_url), ask(), StreamOptions(**options))


@pytest.mark.parametrize(
    ("base_url", "env", "url"),
    [
        (HOSTS, PLACE, "https://europe-west4-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west4/"),
        (
            HOSTS,
            {**PLACE, "GOOGLE_CLOUD_LOCATION": "global"},
            "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/",
        ),
        (
            HOSTS,
            {"GCLOUD_PROJECT": "p2", "GOOGLE_CLOUD_LOCATION": "us"},
            "https://us-aiplatform.googleapis.com/v1/projects/p2/locations/us/",
        ),
        ("http://x/v1beta1", PLACE, "http://x/v1beta1/projects/p1/locations/europe-west4/"),
    ],
)
def test_addresses(base_url: str, env: dict[str, str], url: str) -> None:
    sent = request(base_url, env=env)
    assert sent.url == f"{url}publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse"
    assert sent.headers == {}


def test_a_key_goes_to_the_express_endpoint() -> None:
    sent = request(api_key="k", env=PLACE)
    assert sent.url == (
        "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse"
    )
    assert sent.headers == {"x-goog-api-key": "k"}


@pytest.mark.parametrize("missing", list(PLACE))
def test_without_a_place_the_message_says_what_to_set(missing: str) -> None:
    with pytest.raises(RequestError, match=f"{missing}.*GOOGLE_CLOUD_API_KEY|GOOGLE_CLOUD_API_KEY"):
        request(env={name: value for name, value in PLACE.items() if name != missing})


def service_account(folder: Path, token_uri: str) -> Path:
    """Write the file of an account that gets its tokens at `token_uri`."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    account = {
        "type": "service_account",
        "project_id": "p1",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "a@p1.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": token_uri,
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account))
    return file


def answering(token: Reply) -> Any:
    def reply(request: Request) -> Reply:
        return token if request.path == "/token" else {"stream": [{"raw": sse(SAID)}]}

    return reply


async def asked(server: ScriptedServer, pool: HttpPool, **env: str) -> AssistantMessage:
    options = StreamOptions(env={**PLACE, **env})
    return await run_request(gemini(server.url), ask(), options, pool).result()


@pytest.mark.parametrize("own", [True, False], ids=["the provider's file", "the process's file"])
async def test_a_token_is_fetched_once_and_used(
    own: bool, pool: HttpPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("google.auth")
    token = {"json": {"access_token": "ya29.token-of-the-account", "expires_in": 3600, "token_type": "Bearer"}}
    with ScriptedServer(answering(token)) as server:
        file = str(service_account(tmp_path, f"{server.url}/token"))
        env = {"GOOGLE_APPLICATION_CREDENTIALS": file} if own else {}
        if not own:
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
        messages = [await asked(server, pool, **env) for _ in range(2)]
    assert [message.text for message in messages] == ["hello", "hello"], messages
    assert [request.path for request in server.requests].count("/token") == 1
    assert server.requests[-1].headers["authorization"] == "Bearer ya29.token-of-the-account"
    assert server.requests[-1].path.startswith("/v1/projects/p1/locations/europe-west4/publishers/google/models/")


async def test_a_token_that_cannot_be_had_is_an_error(pool: HttpPool, tmp_path: Path) -> None:
    pytest.importorskip("google.auth")
    refused = {"status": 400, "json": {"error": "invalid_grant", "error_description": "Account is gone"}}
    with ScriptedServer(answering(refused)) as server:
        file = service_account(tmp_path, f"{server.url}/token")
        message = await asked(server, pool, GOOGLE_APPLICATION_CREDENTIALS=str(file))
    assert message.stop_reason == "error"
    assert "Account is gone" in (message.error_message or "")


async def test_credentials_of_a_user_go_through_the_proxy_and_warn_of_nothing(pool: HttpPool, tmp_path: Path) -> None:
    pytest.importorskip("google.auth")
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    file = tmp_path / "user.json"
    file.write_text(json.dumps(user))
    with ScriptedServer() as server:
        env = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "HTTPS_PROXY": "http://127.0.0.1:9"}
        message = await asked(server, pool, **env)
    assert (message.error_message or "").startswith("No access token from Google: Connection error")
    assert server.requests == []


async def test_without_credentials_the_message_says_what_to_do(pool: HttpPool, tmp_path: Path) -> None:
    pytest.importorskip("google.auth")
    with ScriptedServer() as server:
        message = await asked(server, pool, GOOGLE_APPLICATION_CREDENTIALS=str(tmp_path / "none.json"))
    assert "gcloud auth application-default login" in (message.error_message or "")


async def test_without_the_extra_the_message_names_it(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth.exceptions", None)
    with ScriptedServer() as server:
        message = await asked(server, pool)
    assert "pip install 'piolet[vertex]'" in (message.error_message or "")


async def test_other_credentials_are_left_alone(pool: HttpPool) -> None:
    with ScriptedServer(answering({"status": 500, "json": {}})) as server:
        options = StreamOptions(env=PLACE, headers={"Authorization": "Bearer mine"})
        assert (await run_request(gemini(server.url), ask(), options, pool).result()).text == "hello"
        options = replace(options, api_key="k", headers={})
        assert (await run_request(gemini(server.url), ask(), options, pool).result()).text == "hello"
    assert server.requests[0].headers["authorization"] == "Bearer mine"
    assert "authorization" not in server.requests[1].headers
