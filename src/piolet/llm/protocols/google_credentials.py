"""The application default credentials of Google Cloud, through google-auth. Source: providers, section 8."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import warnings
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from piolet.llm.errors import ProviderError, RequestError, network_error, one_line
from piolet.llm.model import StreamOptions
from piolet.llm.pool import context_for, environment_proxy

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
TIMEOUT_SECONDS = 30


async def access_headers(options: StreamOptions) -> Mapping[str, str]:
    """Return the headers that authorize a request; a token that expires soon is renewed.

    `RequestError` without google-auth or without credentials, `ProviderError` if a token cannot be had.
    """
    return await asyncio.to_thread(_access_headers, options)


def _access_headers(options: StreamOptions) -> dict[str, str]:
    try:
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
    except ImportError as error:
        raise RequestError(
            "Vertex AI without an API key needs the extra of that name: pip install 'piolet[vertex]'"
        ) from error
    try:
        with _lock:
            credentials = _credentials(*_sources(options))
            if not credentials.valid:
                credentials.refresh(functools.partial(_http, options.env))
            headers: dict[str, str] = {}
            credentials.apply(headers)
            return headers
    except DefaultCredentialsError as error:
        raise RequestError(
            "There are no application default credentials: run `gcloud auth application-default login`, or set "
            f"GOOGLE_APPLICATION_CREDENTIALS to a file ({one_line(str(error), 200)})"
        ) from error
    except GoogleAuthError as error:
        raise ProviderError(
            f"No access token from Google: {one_line(str(error))}", transient=bool(error.retryable)
        ) from error


_lock = threading.Lock()


def _sources(options: StreamOptions) -> tuple[str, str]:
    """Return what the credentials depend on: the provider's own file, and where the process would look for one."""
    process = (os.environ.get(name, "") for name in ("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "HOME"))
    return options.env.get("GOOGLE_APPLICATION_CREDENTIALS", ""), "\n".join(process)


@functools.lru_cache(maxsize=16)  # they hold the token, which lives for an hour
def _credentials(file: str, process: str) -> Any:
    import google.auth

    request = functools.partial(_http, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of credentials without a quota project, of files of any kind
        if file:
            loaded = google.auth.load_credentials_from_file(file, [SCOPE], request=request)  # type: ignore[no-untyped-call]
        else:
            loaded = google.auth.default([SCOPE], request)  # type: ignore[arg-type]
    return loaded[0]


def _http(
    env: Mapping[str, str],
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = None,
    **_: Any,
) -> Any:
    """Make a request of google-auth as all others are made: with our proxy and our certificates."""
    import httpx
    from google.auth.exceptions import TransportError

    proxy = environment_proxy(url, {**os.environ, **env})
    verify = context_for(url.partition(":")[0], proxy)
    try:
        with httpx.Client(verify=verify, proxy=proxy, trust_env=False, timeout=timeout or TIMEOUT_SECONDS) as client:
            response = client.request(method, url, content=body, headers=dict(headers or {}))
    except httpx.HTTPError as error:
        text = str(network_error(error, httpx.URL(url).host))
        raise TransportError(text) from error  # type: ignore[no-untyped-call]
    return SimpleNamespace(status=response.status_code, headers=response.headers, data=response.content)
