"""What servers that speak Anthropic's messages do differently, and how Claude is asked to think.

Source: providers, section 7.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, ValidationError, convert

from piolet.llm.errors import RequestError
from piolet.llm.estimate import output_limit
from piolet.llm.messages import ThinkingLevel
from piolet.llm.model import Context, Model, ModelCost, StreamOptions
from piolet.llm.thinking import ANSWER_TOKENS, provider_level, thinking_budget

#: The effort that stands above a conversation whose messages change it.
FIRST_EFFORT = "low"


class FallbackModel(Struct, frozen=True):
    """A model that the service may answer with when it will not with the one that was asked, and its rates."""

    provider: str
    model: str
    cost: ModelCost


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
    supports_mid_convo_effort: bool = False
    allowed_fallback_models: list[FallbackModel] = []


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


def limits_and_thinking(
    model: Model, context: Context, options: StreamOptions, level: ThinkingLevel, *, adaptive: bool
) -> dict[str, Any]:
    """Return output limit and thinking. A budget for thinking comes on top of the limit that a caller asked for.

    `adaptive` models decide themselves how much they think, others are given a budget.
    """
    budget = thinking_budget(level, options.thinking_budgets)
    with_budget = model.reasoning and level != "off" and not adaptive
    wanted = options.max_tokens + budget if options.max_tokens and with_budget else options.max_tokens
    limit = output_limit(model, context, wanted)
    fields: dict[str, Any] = {"max_tokens": limit}
    if not model.reasoning:
        return fields
    if level == "off":
        fields["thinking"] = {"type": "disabled"}
    elif adaptive:
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
        fields["output_config"] = {"effort": effort(model, level)}
    elif limit > ANSWER_TOKENS:
        fields["thinking"] = {"type": "enabled", "budget_tokens": min(budget, limit - ANSWER_TOKENS)}
    return fields
