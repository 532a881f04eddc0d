"""Where a request to Amazon Bedrock goes and how it is signed. Source: providers, section 9.

Signing (SigV4) and the credentials for it come from botocore, which is an extra; a bearer token needs neither.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import threading
from collections.abc import Mapping
from typing import Any

from piolet.llm.errors import RequestError, one_line
from piolet.llm.model import Model, StreamOptions

SERVICE = "bedrock"
DEFAULT_REGION = "us-east-1"
_arn = re.compile(r"arn:[^:]*:bedrock:([a-z0-9-]+):")
_endpoint = re.compile(r"bedrock-runtime(-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")


def region(model: Model, options: StreamOptions) -> str:
    """Return the region: of an ARN in the model's id, of the variables or the profile, of the endpoint, us-east-1."""
    if found := _arn.match(model.id):
        return found[1]
    told = options.variable("AWS_REGION") or options.variable("AWS_DEFAULT_REGION") or _profile_region(options)
    if told:
        return told
    found = _endpoint.fullmatch(model.host)
    return found[2] if found else DEFAULT_REGION


def base_url(model: Model, options: StreamOptions) -> str:
    """Return the base URL: the service's own is that of the region, any other stays as it is."""
    found = _endpoint.fullmatch(model.host)
    if model.base_url and found is None:
        return model.base_url.rstrip("/")
    name = region(model, options)
    variant = (found[1] or "") if found else ""
    return f"https://bedrock-runtime{variant}.{name}.amazonaws.com{'.cn' if name.startswith('cn-') else ''}"


def _profile_region(options: StreamOptions) -> str:
    profile = options.variable("AWS_PROFILE")
    if not profile:
        return ""
    import configparser

    config = configparser.RawConfigParser()
    try:
        config.read(os.path.expanduser(options.variable("AWS_CONFIG_FILE") or "~/.aws/config"), encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return ""
    section = profile if profile == "default" else f"profile {profile}"
    return config.get(section, "region", fallback="")


def bearer_token(options: StreamOptions) -> str:
    """Return the token that stands in the place of a signature; "" without one."""
    return options.api_key or options.variable("AWS_BEARER_TOKEN_BEDROCK")


async def sign(
    model: Model, options: StreamOptions, url: str, headers: Mapping[str, str], body: bytes
) -> Mapping[str, str]:
    """Return the headers that sign a request; none if it is authorized already, or AWS_BEDROCK_SKIP_AUTH is set."""
    if "authorization" in headers or options.variable("AWS_BEDROCK_SKIP_AUTH") in ("1", "true"):
        return {}
    return await asyncio.to_thread(_signature, options, region(model, options), url, headers["content-type"], body)


def _signature(options: StreamOptions, region: str, url: str, content_type: str, body: bytes) -> dict[str, str]:
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise RequestError(
            "Bedrock without a bearer token (AWS_BEARER_TOKEN_BEDROCK) needs the extra of that name: "
            "pip install 'piolet[bedrock]'"
        ) from error
    try:
        with _lock:
            credentials = _credentials(options)
        request = AWSRequest(method="POST", url=url, data=body, headers={"content-type": content_type})
        SigV4Auth(credentials, SERVICE, region).add_auth(request)
    except BotoCoreError as error:
        raise RequestError(f"The request to Bedrock cannot be signed: {one_line(str(error))}") from error
    return {name.lower(): value for name, value in request.headers.items() if name.lower() != "content-type"}


_lock = threading.Lock()


def _credentials(options: StreamOptions) -> Any:
    """Return the keys to sign with, renewed where they expire: the provider's own, else what botocore finds."""
    from botocore.credentials import Credentials

    env = options.env
    key, secret = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        return Credentials(key, secret, env.get("AWS_SESSION_TOKEN"))
    surroundings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))
    found = _session(env.get("AWS_PROFILE"), (("HOME", os.environ.get("HOME", "")), *surroundings)).get_credentials()
    if found is None:
        raise RequestError(
            "There are no AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY"
        )
    return found.get_frozen_credentials()


@functools.lru_cache(maxsize=16)  # a session holds temporary keys and knows when to renew them
def _session(profile: str | None, surroundings: tuple[tuple[str, str], ...]) -> Any:
    from botocore.session import Session

    return Session(profile=profile)
