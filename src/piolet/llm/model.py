"""The record of a model, and what a request is made of."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

from piolet.base.abort import AbortSignal
from piolet.llm.messages import Message, Record, ThinkingLevel


class CostTier(Record, frozen=True):
    """Rates for a whole request of more than `input_tokens_above` input tokens. US dollars per million tokens."""

    input_tokens_above: int
    input: float
    output: float
    cache_read: float
    cache_write: float


class ModelCost(Record, frozen=True):
    """US dollars per million tokens. On the wire all four stand, zeros too: a factory's value is not omitted."""

    input: float = field(default_factory=float)
    output: float = field(default_factory=float)
    cache_read: float = field(default_factory=float)
    cache_write: float = field(default_factory=float)
    tiers: Sequence[CostTier] | None = None


class Model(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One model of one provider. `compat` holds the flags of its wire protocol; absent ones have their defaults."""

    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool
    input: Sequence[str]
    cost: ModelCost
    context_window: int
    max_tokens: int
    type: str | None = None
    thinking_level_map: dict[str, str | None] | None = None
    input_limits: dict[str, Any] | None = None
    prompt_cache: dict[str, Any] | None = None
    sampling_params: dict[str, Any] | None = None
    sampling_params_by_thinking_level: dict[str, dict[str, Any]] | None = None
    headers: dict[str, str] | None = None
    compat: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        """``provider/id``, unique in a catalogue."""
        return f"{self.provider}/{self.id}"

    @property
    def host(self) -> str:
        """The host name of the base URL in lower case; "" if there is none."""
        try:
            return urlsplit(self.base_url).hostname or ""
        except ValueError:
            return ""


class ToolSpec(Record, frozen=True):
    """What a model is told of a tool. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]
    constrained_sampling: Any = None


class Context(Struct, frozen=True):
    """What one request sends: the prompt, the messages, the tools on offer."""

    messages: Sequence[Message]
    system_prompt: str | None = None
    tools: Sequence[ToolSpec] = ()


CacheRetention: TypeAlias = Literal["none", "short", "long"]
ToolChoice: TypeAlias = Literal["auto", "none", "required"]


class StreamOptions(Struct, frozen=True):
    """How one request is made. Times in milliseconds; None leaves the default of the layer below.

    `headers`: a None value removes a default header. `env`: provider-scoped variables, before those of the process.
    `on_payload(body, model)` may return a replacement; `on_headers(headers, model)` edits its own copy in place;
    `on_response(status, headers, model)` runs before the body is read. The text form of a record has no secrets.
    """

    signal: AbortSignal | None = None
    api_key: str | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    temperature: float | None = None
    max_tokens: int | None = None
    sampling_params: Mapping[str, Any] = field(default_factory=dict)
    reasoning: ThinkingLevel | None = None
    thinking_budgets: Mapping[str, int] = field(default_factory=dict)
    tool_choice: ToolChoice | None = None
    cache_retention: CacheRetention | None = None
    session_id: str | None = None
    timeout_ms: int | None = None
    idle_timeout_ms: int | None = None
    max_retries: int = 0
    max_retry_delay_ms: int = 60_000
    metadata: Mapping[str, Any] = field(default_factory=dict)
    on_payload: Callable[[dict[str, Any], Model], Awaitable[dict[str, Any] | None]] | None = None
    on_headers: Callable[[dict[str, str | None], Model], Awaitable[None]] | None = None
    on_response: Callable[[int, Mapping[str, str], Model], Awaitable[None]] | None = None
    on_provider_event: Callable[[Any, Model], Awaitable[None]] | None = None

    def variable(self, name: str) -> str:
        """Return the value of an environment variable, the provider's own before the process's; "" if it is not set."""
        return self.env.get(name) or os.environ.get(name, "")

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in ("temperature", "max_tokens", "reasoning", "session_id"))
        return f"StreamOptions({', '.join(shown)})"
