"""From configuration to what a request needs: the order of sources, and what each says when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piolet.llm.credentials.errors import AuthFileError, LoginError, MissingCredentials, UnresolvedValue
from piolet.llm.credentials.records import RequestAuth
from piolet.llm.model import StreamOptions
from piolet.llm.models import Models

FAR = 99_999_999_999_999


def models(tmp_path: Path, *, auth: Any = None, file: Any = None, environ: dict[str, str] | None = None) -> Models:
    if auth is not None:
        (tmp_path / "auth.json").write_text(auth if isinstance(auth, str) else json.dumps(auth))
    if file is not None:
        (tmp_path / "models.json").write_text(json.dumps({"providers": file}))
    return Models.open(tmp_path, environ={"PATH": "/usr/bin:/bin", **(environ or {})})


async def resolve(models: Models, provider: str = "groq") -> RequestAuth:
    return await models.resolve_auth(models.provider_models(provider)[0])


async def test_the_order_of_the_sources_of_a_key(tmp_path: Path) -> None:
    found = models(
        tmp_path,
        auth={"groq": {"type": "api_key", "key": "stored"}},
        file={"groq": {"apiKey": "configured"}},
        environ={"GROQ_API_KEY": "environment"},
    )
    found.set_runtime_key("groq", "given")
    sources = [(await resolve(found)).api_key]
    found.set_runtime_key("groq", None)
    sources.append((await resolve(found)).api_key)
    found.credentials.remove("groq")
    found.register_provider("groq", {"apiKey": "extension"})
    sources.append((await resolve(found)).api_key)
    found.unregister_provider("groq")
    sources.append((await resolve(found)).api_key)
    (tmp_path / "models.json").unlink()
    found.reload()
    sources.append((await resolve(found)).api_key)
    assert sources == ["given", "stored", "extension", "configured", "environment"]


async def test_a_stored_credential_owns_its_provider(tmp_path: Path) -> None:
    found = models(
        tmp_path, auth={"groq": {"type": "api_key", "key": "$UNSET"}}, environ={"GROQ_API_KEY": "environment"}
    )
    assert not found.has_configured_auth("groq")
    assert found.auth_status("groq").source == "stored key: UNSET is not set"
    with pytest.raises(UnresolvedValue, match="UNSET is not set"):
        await resolve(found)


async def test_an_expired_login_without_a_way_to_renew_it_does_not_fall_back(tmp_path: Path) -> None:
    login = {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}
    found = models(tmp_path, auth={"groq": login}, environ={"GROQ_API_KEY": "environment"})
    with pytest.raises(LoginError, match="how to renew it is not configured"):
        await resolve(found)


async def test_variables_beside_a_stored_key_belong_to_that_provider(tmp_path: Path) -> None:
    entry = {"type": "api_key", "key": "$MINE", "env": {"MINE": "k", "HTTPS_PROXY": "http://p"}}
    found = models(tmp_path, auth={"groq": entry}, file={"groq": {"headers": {"X-A": "v-$MINE"}}})
    auth = await resolve(found)
    assert (auth.api_key, auth.headers, auth.env["HTTPS_PROXY"]) == ("k", {"x-a": "v-k"}, "http://p")


async def test_a_command_for_a_stored_key_runs_once_and_one_in_models_json_each_time(tmp_path: Path) -> None:
    count = f"!echo x >> {tmp_path}/ran; echo key"
    found = models(tmp_path, auth={"groq": {"type": "api_key", "key": count}}, file={"xai": {"apiKey": count}})
    for _ in range(3):
        assert (await resolve(found)).api_key == "key"
    assert (tmp_path / "ran").read_text() == "x\n"
    for _ in range(2):
        assert (await resolve(found, "xai")).api_key == "key"
    assert (tmp_path / "ran").read_text() == "x\n" * 3


async def test_looking_whether_there_is_a_key_runs_no_command(tmp_path: Path) -> None:
    found = models(tmp_path, auth={"groq": {"type": "api_key", "key": f"!touch {tmp_path}/ran; echo k"}})
    assert found.has_configured_auth("groq")
    assert "groq/openai/gpt-oss-120b" in {model.key for model in found.get_available()}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"apiKey": "!exit 3"}, "API key.*its command ended with status 3"),
        ({"apiKey": "!true"}, "API key.*its command printed nothing"),
        ({"apiKey": "k", "headers": {"X-A": "$UNSET"}}, 'header "X-A".*UNSET is not set'),
        ({"apiKey": ""}, "it is empty"),
    ],
)
async def test_a_value_that_cannot_be_had_is_named(tmp_path: Path, entry: Any, message: str) -> None:
    with pytest.raises(UnresolvedValue, match=message):
        await resolve(models(tmp_path, file={"groq": entry}))


async def test_headers_of_provider_model_and_override_add_up(tmp_path: Path) -> None:
    entry = {
        "baseUrl": "https://x.example",
        "api": "openai-completions",
        "apiKey": "k",
        "authHeader": True,
        "headers": {"X-A": "provider", "X-B": "provider", "X-C": "provider"},
        "models": [{"id": "m", "headers": {"X-B": "model", "X-C": "model"}}, {"id": "n"}],
        "modelOverrides": {"m": {"headers": {"X-C": "override"}}},
    }
    found = models(tmp_path, file={"my": entry})
    expected = {"authorization": "Bearer k", "x-a": "provider", "x-b": "model", "x-c": "override"}
    assert (await resolve(found, "my")).headers == expected
    assert found.provider_models("my")[0].headers is None


async def test_tokens_of_a_login_and_of_some_variables_are_bearer_tokens(tmp_path: Path) -> None:
    bearer = {"authorization": "Bearer t", "x-api-key": None, "x-goog-api-key": None}
    by_variable = models(tmp_path, environ={"ANTHROPIC_AUTH_TOKEN": "t"})
    assert (await resolve(by_variable, "anthropic")).headers == bearer
    by_key = models(tmp_path, environ={"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"})
    assert (await resolve(by_key, "anthropic")).headers == {}
    login = {"type": "oauth", "access": "t", "refresh": "r", "expires": FAR}
    stored = models(tmp_path, auth={"anthropic": login})
    assert (await resolve(stored, "anthropic")).headers == bearer
    assert stored.is_using_oauth("anthropic")


async def test_the_key_of_a_gateway_goes_into_its_own_header(tmp_path: Path) -> None:
    ids = {"CLOUDFLARE_ACCOUNT_ID": "acc", "CLOUDFLARE_GATEWAY_ID": "gw"}
    found = models(tmp_path, environ={"CLOUDFLARE_API_KEY": "k", **ids})
    auth = await resolve(found, "cloudflare-ai-gateway")
    assert auth.headers == {"authorization": None, "x-api-key": None, "cf-aig-authorization": "Bearer k"}
    assert auth.base_url.startswith("https://gateway.ai.cloudflare.com/v1/acc/gw/")


def test_a_provider_whose_address_is_incomplete_is_not_configured(tmp_path: Path) -> None:
    found = models(tmp_path, environ={"CLOUDFLARE_API_KEY": "k", "CLOUDFLARE_ACCOUNT_ID": "acc"})
    assert not found.has_configured_auth("cloudflare-ai-gateway")
    assert found.auth_status("cloudflare-ai-gateway").source.endswith("but CLOUDFLARE_GATEWAY_ID not set")
    assert found.has_configured_auth("cloudflare-workers-ai")


def test_the_clouds_own_credentials_count(tmp_path: Path) -> None:
    assert not models(tmp_path, environ={"AWS_ACCESS_KEY_ID": "a"}).has_configured_auth("amazon-bedrock")
    both = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}
    assert models(tmp_path, environ=both).has_configured_auth("amazon-bedrock")
    google = {"HOME": str(tmp_path), "GCLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-east1"}
    assert not models(tmp_path, environ=google).has_configured_auth("google-vertex")
    (tmp_path / ".config/gcloud").mkdir(parents=True)
    (tmp_path / ".config/gcloud/application_default_credentials.json").write_text("{}")
    assert models(tmp_path, environ=google).has_configured_auth("google-vertex")


async def test_a_broken_auth_file_is_told_where_a_key_is_needed_and_does_not_stop_the_listing(tmp_path: Path) -> None:
    found = models(tmp_path, auth="{oops", environ={"GROQ_API_KEY": "k"})
    assert found.get_available() == []
    assert "auth.json is no valid JSON" in found.auth_status("groq").source
    with pytest.raises(AuthFileError):
        await resolve(found)


async def test_vertex_without_its_credentials_names_the_file_and_how_to_get_it(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-east1"}
    status = models(tmp_path, environ=environ).auth_status("google-vertex")
    assert not status.configured
    assert str(tmp_path / ".config/gcloud/application_default_credentials.json") in status.source
    assert "gcloud auth application-default login" in status.source


async def test_missing_keys_name_the_variable_and_the_command(tmp_path: Path) -> None:
    with pytest.raises(MissingCredentials, match="set GROQ_API_KEY or run `piolet auth login groq`"):
        await resolve(models(tmp_path))


def test_what_is_resolved_does_not_show_its_secret() -> None:
    assert "secret" not in repr(RequestAuth("secret", {"authorization": "secret"}, env={"X": "secret"}))
    assert "secret" not in repr(StreamOptions(api_key="secret", headers={"authorization": "secret"}))
    assert "secret" not in repr(Models(environ={"GROQ_API_KEY": "secret"})._auth("groq", "secret"))
