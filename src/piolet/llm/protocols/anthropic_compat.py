"""What servers that speak Anthropic's messages do differently. Source: providers, section 7."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, ValidationError, convert

from piolet.llm.errors import RequestError
from piolet.llm.messages import ThinkingLevel
from piolet.llm.model import Model
from piolet.llm.thinking import provider_level


class MessagesCompat(Struct, frozen=True, rename="camel"):
    """The flags of one model, complete."""

    supports_eager_tool_input_streaming: bool = True
    supports_long_cache_retention: bool = True
    send_session_affinity_headers: bool = False
    session_affinity_format: Literal["openrouter", "openai", "openai-nosession"] = "openai"
    supports_cache_control_on_tools: bool = True
    supports_temperature: bool = True
    force_adaptive_thinking: bool = False
    allow_empty_signature: bool = False
    supports_strict_tools: bool = False


def compat_of(model: Model) -> MessagesCompat:
    """Return the flags of `model`."""
    given = {key: value for key, value in (model.compat or {}).items() if value is not None}
    defaults: dict[str, Any] = {}
    if model.provider == "openrouter":
        defaults = {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": "openrouter"}
    try:
        return convert({**defaults, **given}, MessagesCompat)
    except ValidationError as error:
        raise RequestError(f"The compat flags of {model.key} are not valid: {error}") from error


def effort(model: Model, level: ThinkingLevel) -> str:
    """Return the effort that an adaptive model is asked for; it has none below ``low``."""
    word = provider_level(model, level)
    return "low" if word == "minimal" else word
