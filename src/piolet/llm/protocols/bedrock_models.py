"""What the models of Amazon Bedrock expect differs by family: Claude and its versions, GPT.

Source: providers, section 9.
"""

from __future__ import annotations

import re
from typing import Any

from piolet.llm.messages import ThinkingLevel
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols.anthropic_compat import effort as claude_effort
from piolet.llm.protocols.anthropic_compat import limits_and_thinking
from piolet.llm.thinking import provider_level

INTERLEAVED = "interleaved-thinking-2025-05-14"
_NO_VERSION = (0, 0)
_version_first = re.compile(r"claude-(\d)(?:-(\d))?-[a-z]")
_gpt = re.compile(r"\bgpt-\d")
_version_last = re.compile(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")


def _names(model: Model) -> str:
    """Return id and name in one spelling. A name tells what the address of an inference profile does not."""
    return re.sub(r"[ ._]", "-", f"{model.id} {model.name}".lower())


def is_claude(model: Model) -> bool:
    """Return whether `model` is one of Anthropic's."""
    return "claude" in _names(model)


def claude_version(model: Model) -> tuple[int, int]:
    """Return the version of a Claude model, (0, 0) for one that does not tell it and for other models."""
    names = _names(model)
    found = _version_first.search(names) or _version_last.search(names)
    return (int(found[1]), int(found[2] or 0)) if found else _NO_VERSION


def caches(model: Model, options: StreamOptions) -> bool:
    """Return whether the prompt of `model` may be marked for the cache. AWS_BEDROCK_FORCE_CACHE says so for any."""
    if options.variable("AWS_BEDROCK_FORCE_CACHE") in ("1", "true"):
        return True
    version = claude_version(model)
    return version >= (3, 7) or (version == (3, 5) and "haiku" in _names(model))


def caches_for_an_hour(model: Model) -> bool:
    return claude_version(model) >= (4, 5)


def is_adaptive(model: Model) -> bool:
    """Return whether a Claude model decides itself how much it thinks."""
    return bool((model.compat or {}).get("forceAdaptiveThinking", claude_version(model) >= (4, 6)))


def effort(model: Model, level: ThinkingLevel) -> str | None:
    """Return the effort that `model` is asked for at `level`; None for models that are asked otherwise."""
    word = provider_level(model, level)
    if level == "off":
        return None
    if is_claude(model):
        return claude_effort(model, level) if is_adaptive(model) else None
    if "gpt-oss" in model.id:
        return {"minimal": "low", "xhigh": "high", "max": "high"}.get(word, word)
    if _gpt.search(model.id):
        return "low" if word == "minimal" else word
    return None


def output_and_thinking(
    model: Model, context: Context, options: StreamOptions, level: ThinkingLevel, region: str
) -> tuple[int, dict[str, Any]]:
    """Return the limit of output tokens, and the fields of the model's own that ask for thinking."""
    claude = is_claude(model)
    fields = limits_and_thinking(model, context, options, level, adaptive=not claude or is_adaptive(model))
    limit = fields.pop("max_tokens")
    if claude and level != "off":
        if is_adaptive(model) and region.startswith("us-gov"):
            del fields["thinking"]["display"]  # not known in that partition
        elif "thinking" in fields and not is_adaptive(model) and claude_version(model) >= (4, 0):
            fields["anthropic_beta"] = [INTERLEAVED]
        return limit, fields
    word = effort(model, level)
    if word is None:
        return limit, {}
    return limit, {"reasoning_effort": word} if "gpt-oss" in model.id else {"reasoning": {"effort": word}}
