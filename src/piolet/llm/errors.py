"""What can go wrong with a request to a model, and the one line of text that says so.

    LlmError                 base
    ├── RequestError         the request cannot be made as asked: a wrong address, an unknown api, a missing extra
    └── ProviderError        what the provider or the network did

The text is an interface: later layers match on it (`piolet.llm.retry`, `piolet.llm.overflow`), so the server's own
words and its status code stay in it (providers, section 3).
"""

from __future__ import annotations

import errno
import functools
import os
import re
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from piolet.base.json import dumps, loads

MAX_ERROR_CHARS = 4000
MAX_HTML_CHARS = 300
SHORTEST_SECRET = 8


class LlmError(Exception):
    """Base of the errors of this package."""


class RequestError(LlmError):
    """The request cannot be made as asked."""


class ProviderError(LlmError):
    """A request failed at the provider or on the way. `transient`: another try of the same request may succeed."""

    def __init__(self, text: str, *, transient: bool = False, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.transient = transient
        self.headers: Mapping[str, str] = headers or {}


def http_error_text(status: int, body: bytes, content_type: str = "") -> str:
    """Return ``<status>: <what the server said>`` on one line; the error object of a JSON body as compact JSON."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        return f"{status} status code (no body)"
    if text.startswith("<") or ("html" in content_type and not text.startswith("{")):
        return f"{status}: {html_summary(text)}"
    try:
        said = error_value(loads(text))
    except ValueError:
        said = text
    return f"{status}: {one_line(said)}"


def error_value(body: Any) -> str:
    """Return the text of a JSON error body: its ``error`` member, an object as compact JSON, else the whole body."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if isinstance(body, dict) and body.get("error"):
        body = body["error"]
    return body if isinstance(body, str) else dumps(body)


def html_summary(page: str) -> str:
    """Return one short line for an HTML page: its title and the beginning of its visible text."""
    import html

    title = re.search(r"<title[^>]*>(.*?)</title>", page, re.IGNORECASE | re.DOTALL)
    visible = re.sub(r"(?is)<(script|style|title|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", " ", page)
    parts = [html.unescape(part).strip() for part in (title[1] if title else "", visible)]
    text = one_line(" - ".join(part for part in parts if part), MAX_HTML_CHARS)
    return f"an HTML page came instead of an answer: {text}" if text else "an empty HTML page came instead of an answer"


def one_line(text: str, limit: int = MAX_ERROR_CHARS) -> str:
    """Return `text` with its white space collapsed, cut to `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def says(text: str, patterns: tuple[str, ...]) -> bool:
    """Return whether an error text matches one of `patterns`, in either case."""
    return _any_of(patterns).search(text) is not None


@functools.cache  # compiled at the first failure: start-up does not pay for it
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_secret_header = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


def header_secrets(headers: Mapping[str, str]) -> set[str]:
    """Return what of `headers` must not be shown: the values of those that carry credentials."""
    values = [value for name, value in headers.items() if _secret_header.search(name)]
    return {*values, *(value.rpartition(" ")[2] for value in values)}


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every one of `secrets` masked, also one that the end of the text cuts off.

    Short ones are no secrets: they would hide half of the text.
    """
    for secret in sorted((s for s in secrets if len(s) >= SHORTEST_SECRET), key=len, reverse=True):
        text = text.replace(secret, "***")
        body = text.removesuffix("…")
        lengths = range(min(len(secret) - 1, len(body)), SHORTEST_SECRET - 1, -1)
        if cut := next((length for length in lengths if body.endswith(secret[:length])), 0):
            text = body[:-cut] + "***"
    return text


def network_error(error: Exception, host: str) -> ProviderError:
    """Return what httpx raised as a `ProviderError` whose text names the host and matches the transient patterns."""
    import httpx

    if isinstance(error, httpx.ConnectTimeout):
        return ProviderError(f"Connection error: connecting to {host} timed out", transient=True)
    if isinstance(error, httpx.TimeoutException):
        return ProviderError(f"Request timed out: nothing came from {host} for too long", transient=True)
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ProviderError(f"The base URL is not usable: {error}")
    if isinstance(error, httpx.ProxyError):
        return ProviderError(f"The proxy refused: {one_line(str(error))}")
    if isinstance(error, httpx.DecodingError):
        return ProviderError(f"Stream interrupted: the body from {host} is damaged ({one_line(str(error))})")
    if isinstance(error, httpx.LocalProtocolError):
        return ProviderError("The request is not valid HTTP: is there a line break in a key or a header?")
    detail = _cause(error)
    if "certificate" in detail.lower():
        hint = "set SSL_CERT_FILE or NODE_EXTRA_CA_CERTS to a file with the authority that signed it"
        return ProviderError(f"TLS: the certificate of {host} is not trusted ({detail}); {hint}")
    if "WRONG_VERSION_NUMBER" in detail:
        return ProviderError(f"TLS: {host} does not speak it; is its address http, not https?")
    if isinstance(error, httpx.RemoteProtocolError) and detail.startswith("illegal"):
        return ProviderError(f"Connection lost: what {host} sends is no HTTP", transient=True)
    if isinstance(error, httpx.ConnectError):
        return ProviderError(f"Connection error: {host}: {detail}", transient=True)
    return ProviderError(f"Connection lost: {host}: {detail}", transient=True)


def _cause(error: BaseException | None) -> str:
    """Return the innermost useful reason of a network error, with the code that the patterns know."""
    import ssl

    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    for link in reversed(seen):
        if isinstance(link, socket.gaierror):
            return f"name resolution failed ({'EAI_AGAIN' if link.errno == socket.EAI_AGAIN else 'ENOTFOUND'})"
        number = link.errno if isinstance(link, OSError) and not isinstance(link, ssl.SSLError) else None
        if number is not None and number in errno.errorcode:
            return f"{os.strerror(number).lower()} ({errno.errorcode[number]})"
    return next((one_line(str(link)) for link in seen if str(link)), "connection closed")
