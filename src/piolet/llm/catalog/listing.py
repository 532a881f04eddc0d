"""The lists of models that providers publish, as our records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from piolet.llm.errors import RequestError
from piolet.llm.model import Model, ModelCost
from piolet.llm.provider_config import ModelPatch

#: Where servers tell the context window: vLLM, LM Studio, others; llama.cpp in ``meta``.
_WINDOWS = ("max_model_len", "max_context_length", "context_length", "n_ctx", "n_ctx_train")

#: What speaks at the endpoints that Copilot tells of a model; the first that one has is taken.
_COPILOT_APIS = {"/v1/messages": "anthropic-messages", "/responses": "openai-responses"}


def from_openrouter(listed: Any, known: Iterable[Model]) -> list[Model]:
    """Return the models of OpenRouter's list that can call tools; what we know of one beyond the list is kept.

    `listed`: its answer, ``{"data": [...]}``; prices there are US dollars per token, as text.
    """
    by_id = {model.id: model for model in known}
    try:
        entries = [entry for entry in _data(listed) if "tools" in (entry.get("supported_parameters") or ())]
        return [_openrouter_model(entry, by_id.get(entry["id"])) for entry in entries]
    except (AttributeError, TypeError, ValueError) as error:
        raise RequestError("OpenRouter's list of models has another form than we know") from error


def _openrouter_model(entry: Mapping[str, Any], known: Model | None) -> Model:
    parameters, prices = entry.get("supported_parameters") or (), entry.get("pricing") or {}
    top, kinds = entry.get("top_provider") or {}, (entry.get("architecture") or {}).get("input_modalities") or ()
    window = int(entry.get("context_length") or (known.context_window if known else 128_000))
    cost = ModelCost(
        input=_per_million(prices.get("prompt")),
        output=_per_million(prices.get("completion")),
        cache_read=_per_million(prices.get("input_cache_read")),
        cache_write=_per_million(prices.get("input_cache_write")),
        tiers=known.cost.tiers if known else None,
    )
    if known is None:
        known = Model(
            id=entry["id"],
            name=entry["id"],
            api="openai-completions",
            provider="openrouter",
            base_url="https://openrouter.ai/api/v1",
            reasoning="reasoning" in parameters,
            input=[kind for kind in ("text", "image") if kind == "text" or kind in kinds],
            cost=cost,
            context_window=window,
            max_tokens=min(window, 16_384),
            compat={"thinkingFormat": "openrouter", "sendSessionAffinityHeaders": True},
        )
    return msgspec.structs.replace(
        known,
        name=str(entry.get("name") or known.name),
        cost=cost,
        context_window=window,
        max_tokens=int(top.get("max_completion_tokens") or known.max_tokens),
    )


def from_copilot(listed: Any, known: Iterable[Model], base_url: str) -> list[Model]:
    """Return the models that a Copilot account may choose and that can call tools, with the limits that it tells.

    What we know of one beyond the list is kept; one that we do not know costs nothing, for the subscription pays it.
    """
    by_id = {model.id: model for model in known}
    try:
        entries = [entry for entry in _data(listed) if _is_choosable(entry)]
        return [_copilot_model(entry, by_id.get(entry["id"]), base_url) for entry in entries]
    except (AttributeError, TypeError, ValueError) as error:
        raise RequestError("Copilot's list of models has another form than we know") from error


def _is_choosable(entry: Mapping[str, Any]) -> bool:
    allowed = (entry.get("policy") or {}).get("state", "enabled") == "enabled"
    return bool(allowed and entry.get("model_picker_enabled") and _capabilities(entry, "supports").get("tool_calls"))


def _copilot_model(entry: Mapping[str, Any], known: Model | None, base_url: str) -> Model:
    supports, limits = _capabilities(entry, "supports"), _capabilities(entry, "limits")
    if known is None:
        endpoints = entry.get("supported_endpoints") or ()
        known = Model(
            id=entry["id"],
            name=str(entry.get("name") or entry["id"]),
            api=next((api for path, api in _COPILOT_APIS.items() if path in endpoints), "openai-completions"),
            provider="github-copilot",
            base_url=base_url,
            reasoning=bool(supports.get("reasoning_effort") or supports.get("adaptive_thinking")),
            cost=ModelCost(),
            input=["text", "image"] if supports.get("vision") else ["text"],
            context_window=128_000,
            max_tokens=16_384,
        )
    return msgspec.structs.replace(
        known,
        context_window=int(limits.get("max_context_window_tokens") or known.context_window),
        max_tokens=int(limits.get("max_output_tokens") or known.max_tokens),
    )


def _capabilities(entry: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return (entry.get("capabilities") or {}).get(kind) or {}


def from_openai(listed: Any) -> list[ModelPatch]:
    """Return the models of a list in the form of OpenAI's ``GET /models``, with the windows that some servers tell."""
    return [
        ModelPatch(id=entry["id"], context_window=window) if (window := _window(entry)) else ModelPatch(id=entry["id"])
        for entry in _data(listed)
    ]


def _window(entry: Mapping[str, Any]) -> int | None:
    told = {**entry, **(entry["meta"] if isinstance(entry.get("meta"), dict) else {})}
    return next((told[name] for name in _WINDOWS if isinstance(told.get(name), int) and told[name] > 0), None)


def _data(listed: Any) -> list[Mapping[str, Any]]:
    data = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(data, list):
        raise RequestError('The provider\'s list of models has no "data"')
    return [entry for entry in data if isinstance(entry, dict) and _is_id(entry.get("id"))]


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _per_million(price: Any) -> float:
    try:
        return max(round(float(price or 0) * 1_000_000, 6), 0)
    except (TypeError, ValueError):
        return 0
