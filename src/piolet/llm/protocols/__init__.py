"""The wire protocols, one module each, imported when first used.

A protocol has two pure halves: `WireProtocol.request` makes url, headers and body of (model, context, options), and a
builder (`piolet.llm.builder.MessageBuilder`) folds the provider's records into our events. Everything between, the
network, retries and aborts, is `piolet.llm.transport`, which knows no protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from piolet.llm.copilot import copilot_headers
from piolet.llm.errors import RequestError
from piolet.llm.handoff import IdRule, lone_surrogates_removed, prepare_history
from piolet.llm.sse import ServerEvent, SseSplitter

if TYPE_CHECKING:
    from piolet.llm.builder import MessageBuilder
    from piolet.llm.model import Context, Model, StreamOptions


class WireRequest(Struct):
    """One POST request. `headers`: the protocol's own, with the credentials; model and caller may add to them."""

    url: str
    body: dict[str, Any]
    headers: dict[str, str | None] = field(default_factory=dict)


class Framing(Protocol):
    """Cuts the bytes of a response into events; `data` is JSON text, or ``[DONE]`` for the end."""

    def feed(self, chunk: bytes) -> Iterable[ServerEvent]: ...

    def end(self) -> Iterable[ServerEvent]: ...


class WireProtocol(Struct, frozen=True):
    """What the transport needs of a protocol.

    `build_request` is given a context whose messages are prepared for the model (`piolet.llm.handoff`), with call ids
    that `id_rule` made. `framing` cuts the bytes of the response.

    `sign(model, options, url, headers, body)` makes the last headers when url, headers and body bytes are final
    (request signatures, short-lived tokens). It runs before each try and may raise `RequestError`.

    `error_name(headers)` returns what to call the error of a refused request, "" if its headers do not tell.
    """

    build_request: Callable[[Model, Context, StreamOptions], WireRequest]
    builder: Callable[[Model, Context, StreamOptions], MessageBuilder]
    id_rule: Callable[[Model], IdRule]
    framing: Callable[[], Framing] = SseSplitter
    accept: str = "text/event-stream"
    sign: Callable[[Model, StreamOptions, str, Mapping[str, str], bytes], Awaitable[Mapping[str, str]]] | None = None
    error_name: Callable[[Mapping[str, str]], str] = lambda headers: ""

    def request(self, model: Model, context: Context, options: StreamOptions) -> WireRequest:
        """Return the request for one answer of `model` to `context`. Raises `RequestError` where there can be none."""
        history = prepare_history(context.messages, model, self.id_rule(model))
        request = self.build_request(model, replace(context, messages=history), options)
        request.body = lone_surrogates_removed(request.body)
        if model.provider == "github-copilot":
            request.headers |= copilot_headers(history)
        return request


_MODULES = {
    "anthropic-messages": "anthropic_messages",
    "azure-openai-responses": "azure_openai_responses",
    "bedrock-converse-stream": "bedrock_converse",
    "google-generative-ai": "google_generative_ai",
    "google-vertex": "google_vertex",
    "mistral-conversations": "mistral_conversations",
    "openai-completions": "openai_completions",
    "openai-responses": "openai_responses",
}


def protocol_for(api: str) -> WireProtocol:
    """Return the protocol of `api`; its module has it as ``PROTOCOL``."""
    if api not in _MODULES:
        known = ", ".join(sorted(_MODULES))
        raise RequestError(f"No wire protocol is called '{api}'. Known: {known}; others need an extension")
    protocol = import_module(f"{__name__}.{_MODULES[api]}").PROTOCOL
    assert isinstance(protocol, WireProtocol)
    return protocol
