"""The requests of a login: small, JSON back, 15 seconds at most, never with a secret in an error."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote_plus, urlsplit

from piolet.base.json import loads
from piolet.llm.credentials.errors import LoginError
from piolet.llm.errors import hide_secrets

TIMEOUT = 15.0
PUBLIC = ("grant_type", "client_id", "redirect_uri", "scope", "code_challenge_method")
LONGEST = 1e10  # seconds; more is a mistake


def check_endpoint(url: str) -> None:
    """Raise `LoginError` unless secrets may be sent to `url`: https, or http on this machine."""
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or (parts.scheme != "https" and not (parts.scheme == "http" and local)):
        raise LoginError(f"The login address {url!r} is not usable: it must begin with https://")


async def post(
    url: str, fields: Mapping[str, str], form: Literal["form", "json"] = "form", *, proxy: str | None = None
) -> dict[str, Any]:
    """Return the JSON object that the server answers, also for a failure (RFC 6749, section 5.2).

    `LoginError` if it cannot be reached or answers something else.
    """
    import httpx

    from piolet.llm.pool import HttpPool

    check_endpoint(url)
    host = urlsplit(url).netloc.rpartition("@")[2]
    pool = HttpPool(proxy)
    try:
        async with asyncio.timeout(TIMEOUT):
            client = await pool.client(url, os.environ)
            body: dict[str, Any] = {"data": dict(fields)} if form == "form" else {"json": dict(fields)}
            response = await client.post(url, headers={"accept": "application/json"}, **body)
    except (TimeoutError, httpx.TimeoutException):
        raise LoginError(f"The login server {host} timed out") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise LoginError(
            f"Connection error: the login server {host} cannot be reached ({type(error).__name__})"
        ) from None
    finally:
        await pool.aclose()
    if response.status_code >= 500:
        raise LoginError(f"The login server {host} has a server error ({response.status_code}): try again later")
    try:
        answer = loads(response.content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise LoginError(f"The login server {host} answered {response.status_code} without a JSON object")
    if response.is_error and "error" not in answer:
        answer["error"] = f"status {response.status_code}"
    sent = [form for name in fields if name not in PUBLIC for form in (fields[name], quote_plus(fields[name]))]
    for name in ("error", "error_description"):  # some servers repeat what they were sent
        if name in answer:
            answer[name] = hide_secrets(str(answer[name]), sent)
    return answer


def seconds(value: Any, default: float) -> float:
    """Return a time that a server told, `default` if it is none."""
    try:
        told = float(value)
    except (TypeError, ValueError):
        return default
    return told if 0 < told < LONGEST else default
