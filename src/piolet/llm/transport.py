"""One request over the network: send it, try again if that is allowed, read the stream, tell it as events.

Knows no protocol: what is sent and what the records mean comes from a `WireProtocol`.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from piolet._version import __version__
from piolet.base.abort import Aborted, abortable, sleep
from piolet.base.json import encode, loads
from piolet.llm.builder import MessageBuilder
from piolet.llm.errors import (
    LlmError,
    ProviderError,
    RequestError,
    header_secrets,
    hide_secrets,
    http_error_text,
    network_error,
)
from piolet.llm.events import AssistantEvent, StartEvent
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import CacheRetention, Context, Model, StreamOptions
from piolet.llm.pool import CONNECT_SECONDS, IDLE_SECONDS, HttpPool
from piolet.llm.protocols import WireProtocol, WireRequest, protocol_for
from piolet.llm.retry import may_retry_status, request_delay_ms, retry_after_ms
from piolet.llm.sse import ServerEvent
from piolet.llm.stream import AssistantStream

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
DRAIN_SECONDS = 0.05
ERROR_BODY_SECONDS = 10.0
MAX_ERROR_BODY = 256 * 1024
USER_AGENT = f"piolet/{__version__} ({sys.platform}; python/{sys.version.split()[0]}; {os.uname().machine})"
_header_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_header_value = re.compile(r"[\t\x20-\x7e]*")


def run_request(model: Model, context: Context, options: StreamOptions, pool: HttpPool) -> AssistantStream:
    """Return the stream of one answer of `model`. `options` hold the credentials; `pool` lends the HTTP client."""
    exchange = _Exchange(model, context, options, pool)
    exchange.stream = AssistantStream(exchange.events(), exchange.partial)
    return exchange.stream


class _Exchange:
    """The life of one request."""

    stream: AssistantStream

    def __init__(self, model: Model, context: Context, options: StreamOptions, pool: HttpPool) -> None:
        self._model = model
        self._context = context
        self._options = options
        if options.cache_retention is None:
            self._options = replace(options, cache_retention=_cache_retention(options.env))
        self._pool = pool
        self._builder = MessageBuilder(model, options)
        self._secrets: set[str] = {options.api_key or ""}

    def partial(self) -> AssistantMessage:
        return self._builder.partial()

    async def events(self) -> AsyncGenerator[AssistantEvent, None]:
        reason: Literal["error", "aborted"] = "error"
        started = False
        try:
            protocol, response = await self._open()
            records = self._records(protocol, response)
            async with aclosing(response), aclosing(records):
                async for name, record in records:
                    events = self._builder.fold(name, record)
                    if not started:
                        started = True
                        yield StartEvent()
                    for event in events:
                        yield event
            events = self._builder.finish()
            if not started:
                yield StartEvent()
            for event in events:
                yield event
            yield self._builder.done()
            return
        except Aborted:
            reason, text = "aborted", "Request was aborted"
        except LlmError as error:
            text = hide_secrets(str(error), self._secrets)
        for event in self._builder.close_all():
            yield event
        yield self._builder.failed(reason, text)

    async def _open(self) -> tuple[WireProtocol, httpx.Response]:
        """Build the request, send it, and return the response whose body is the stream."""
        model, options = self._model, self._options
        if options.signal is not None:
            options.signal.throw_if_aborted()
        protocol = protocol_for(model.api)
        self._builder = protocol.builder(model, self._context, options)
        request = protocol.request(model, self._context, options)
        if not _is_http(request.url):
            raise RequestError(f"The base URL of provider '{model.provider}' must begin with http:// or https://")
        if options.on_payload is not None:
            replacement = await self._abortable(options.on_payload(request.body, model))
            request.body = replacement if replacement is not None else request.body
        headers = await self._headers(protocol, request)
        return protocol, await self._send(protocol, request.url, headers, encode(request.body))

    async def _headers(self, protocol: WireProtocol, request: WireRequest) -> dict[str, str]:
        """Return the headers to send: defaults, the protocol's, the model's, the caller's; a later None removes one."""
        merged: dict[str, str | None] = {
            "user-agent": USER_AGENT,
            "accept": protocol.accept,
            "content-type": "application/json",
        }
        for layer in (request.headers, self._model.headers or {}, self._options.headers):
            merged.update({name.lower(): value for name, value in layer.items()})
        if self._options.on_headers is not None:
            await self._abortable(self._options.on_headers(merged, self._model))
        headers = {name: value.strip() for name, value in merged.items() if value is not None}
        configured = (value.strip() for value in self._options.headers.values() if value)  # may come from a command
        self._secrets |= {*header_secrets(headers), *configured}
        for name, value in headers.items():
            if not _header_name.fullmatch(name):
                raise RequestError(f"The header name {name!r} holds characters that HTTP does not allow")
            if not _header_value.fullmatch(value):
                raise RequestError(f"The header '{name}' holds characters that HTTP does not allow")
        return headers

    # -------------------------------------------------------------------------------------------------- sending

    async def _send(self, protocol: WireProtocol, url: str, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        """Return the response whose body is to be read, after as many tries as are allowed."""
        tries = 0
        while True:
            try:
                return await self._try(protocol, url, headers, body)
            except ProviderError as error:
                asked = retry_after_ms(error.headers)
                self.stream.retry_after_ms = asked
                if not error.transient or tries >= self._options.max_retries:
                    raise
                limit = self._options.max_retry_delay_ms
                if asked is not None and 0 < limit < asked:
                    wanted = f"the server asks for a retry delay of {asked / 1000:g} s; the limit is {limit / 1000:g} s"
                    raise ProviderError(f"{error} ({wanted})") from error
                self.stream.retry_after_ms = None
                await sleep(request_delay_ms(tries, asked) / 1000, self._options.signal)
                tries += 1

    async def _try(self, protocol: WireProtocol, url: str, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        if protocol.sign is not None:
            signed = await self._abortable(protocol.sign(self._model, self._options, url, headers, body))
            self._secrets |= header_secrets(signed)
            headers = {**headers, **signed}
        client = await self._abortable(self._pool.client(url, self._options.env))
        import httpx

        idle = (self._options.idle_timeout_ms or IDLE_SECONDS * 1000) / 1000
        total = self._options.timeout_ms / 1000 if self._options.timeout_ms else None
        try:
            timeout = httpx.Timeout(idle, connect=CONNECT_SECONDS, pool=None)
            request = client.build_request("POST", url, headers=dict(headers), content=body, timeout=timeout)
            async with asyncio.timeout(total) as deadline:
                response = await self._abortable(client.send(request, stream=True))
        except TimeoutError:
            if not deadline.expired():
                raise
            raise ProviderError(f"Request timed out: no answer within {total:g} s", transient=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            proxy = self._pool.proxy_for(url, self._options.env)
            way = f" through the proxy {_host(proxy)}" if proxy else ""
            raise network_error(error, _host(url) + way) from error
        try:
            if self._options.on_response is not None:
                await self._abortable(self._options.on_response(response.status_code, response.headers, self._model))
            await self._check(protocol, response)
        except BaseException:
            await response.aclose()
            raise
        return response

    async def _check(self, protocol: WireProtocol, response: httpx.Response) -> None:
        """Raise for a response that is no success."""
        status = response.status_code
        if status == 200:
            return
        content_type = response.headers.get("content-type", "")
        text = http_error_text(status, await self._error_body(response), content_type)
        if response.has_redirect_location:
            text = (
                f"{status}: the server sends on to {_plain(response.headers['location'])}: set the base URL accordingly"
            )
        elif status in (404, 405) and "json" not in content_type:
            text = f"{text} (asked: {_plain(str(response.url))})"  # most likely the base URL is not quite right
        if name := protocol.error_name(response.headers):
            text = f"{name}: {text}"
        raise ProviderError(text, transient=may_retry_status(status, response.headers), headers=response.headers)

    async def _error_body(self, response: httpx.Response) -> bytes:
        """Return what a failed response says, as far as it comes: its status is known already."""
        body = bytearray()
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(ERROR_BODY_SECONDS), aclosing(self._chunks(response)) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) > MAX_ERROR_BODY:
                        break
        return bytes(body)

    # -------------------------------------------------------------------------------------------------- reading

    async def _records(self, protocol: WireProtocol, response: httpx.Response) -> AsyncGenerator[tuple[str, Any], None]:
        """Yield the name and the parsed data of each event of the body."""
        framing = protocol.framing()
        content_type = response.headers.get("content-type", "")
        before = bytearray()  # what came before the first event: nothing, or no stream of events at all
        any_event = False
        async with aclosing(self._chunks(response)) as chunks:
            async for chunk in chunks:
                if not any_event:
                    before += chunk[: MAX_ERROR_BODY - len(before)]
                    if len(before) == MAX_ERROR_BODY and ("html" in content_type or "json" in content_type):
                        break
                for event in framing.feed(chunk):
                    any_event = True
                    data = event.data.strip()
                    if data and data != "[DONE]":
                        yield event.name, await self._parsed(event)
                    if data == "[DONE]" or self._builder.ended:
                        await self._drain(chunks)
                        return
        for event in framing.end():
            any_event = True
            if event.data.strip() not in ("", "[DONE]"):
                try:
                    yield event.name, await self._parsed(event)
                except ProviderError as error:
                    raise ProviderError("Stream ended before its last event was complete", transient=True) from error
        said = _not_of_events.sub(b"", before).strip()
        if said and not any_event:
            raise ProviderError(http_error_text(200, said, content_type))

    async def _drain(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Read what little is left of the body, so that its connection can serve again; do not wait for a slow end."""
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in chunks:
                    pass

    async def _parsed(self, event: ServerEvent) -> Any:
        record = parse_record(event.data)
        if self._options.on_provider_event is not None:
            await self._abortable(self._options.on_provider_event(record, self._model))
        return record

    async def _chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        import httpx

        async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as chunks:
            while True:
                try:
                    chunk = await self._abortable(anext(chunks, None))
                except httpx.HTTPError as error:
                    raise network_error(error, _host(str(response.url))) from error
                if chunk is None:
                    return
                yield chunk

    async def _abortable(self, work: Awaitable[T]) -> T:
        return await abortable(work, self._options.signal)


def _cache_retention(env: Mapping[str, str]) -> CacheRetention:
    """Return how long prompts are cached when no caller says it: ``PI_CACHE_RETENTION``, else short."""
    told = env.get("PI_CACHE_RETENTION") or os.environ.get("PI_CACHE_RETENTION")
    return "long" if told == "long" else "none" if told == "none" else "short"


def parse_record(data: str) -> Any:
    """Return the JSON value that the data of an event is; raise `ProviderError` if it is none."""
    try:
        return loads(data)
    except ValueError:
        raise ProviderError(f"The server sent an event that is no JSON: {data[:200]}") from None


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_not_of_events = re.compile(rb"(?m)^(?::|event:|id:|retry:).*$")


def _plain(url: str) -> str:
    """Return an address without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{_host(url)}{parts.path}" if parts.netloc else parts.path


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
