"""What servers that speak OpenAI's responses do differently. Source: providers, section 6."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, ValidationError, convert, field

from piolet.llm.errors import RequestError
from piolet.llm.model import Model


class ResponsesCompat(Struct, frozen=True, rename="camel"):
    """The flags of one model, complete."""

    supports_developer_role: bool = True
    supports_strict_mode: bool = False
    supports_long_cache_retention: bool = True
    supports_max_output_tokens: bool = True
    supports_reasoning_effort: bool = True
    supports_openai_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_explicit_prompt_cache_mode: bool = False
    supports_mid_convo_effort: bool = False
    prompt_cache_key_mode: Literal["auto", "enabled", "disabled"] = "auto"
    session_affinity_format: Literal["openrouter", "openai", "openai-nosession"] = "openai"


def compat_of(model: Model) -> ResponsesCompat:
    """Return the flags of `model`. Azure knows strict tools, and no retention of its cache."""
    defaults: dict[str, Any] = {}
    if model.api == "azure-openai-responses":
        defaults = {"supportsStrictMode": True, "supportsLongCacheRetention": False}
    given = {key: value for key, value in (model.compat or {}).items() if value is not None}
    try:
        return convert({**defaults, **given}, ResponsesCompat)
    except ValidationError as error:
        raise RequestError(f"The compat flags of {model.key} are not valid: {error}") from error
