"""The wire protocol of Mistral: the request. `POST {base}/v1/chat/completions`, like OpenAI's and yet its own.

Source: providers, section 10. The response is read by `piolet.llm.protocols.mistral_conversations_stream`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from piolet.base.json import dumps
from piolet.llm.estimate import output_limit
from piolet.llm.handoff import IdRule, short_hash
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
    text_of,
)
from piolet.llm.model import Context, Model, StreamOptions, ToolSpec
from piolet.llm.protocols import WireProtocol, WireRequest
from piolet.llm.protocols.mistral_conversations_stream import ID_LENGTH, ConversationsBuilder
from piolet.llm.protocols.openai_compat import CompletionsCompat, compat_of
from piolet.llm.protocols.openai_completions import NO_OUTPUT, RESULTS_TAKEN_IN, SEE_IMAGE
from piolet.llm.schemas import strict_parameters
from piolet.llm.thinking import provider_level, requested_level

FAILED = "[tool error] "


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    body: dict[str, Any] = {"model": model.id, "messages": _messages(context), "stream": True}
    if (limit := output_limit(model, context, options.max_tokens)) > 0:
        body["max_tokens"] = limit
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if context.tools:
        body["tools"] = [_tool(tool, compat_of(model)) for tool in context.tools]
        if options.tool_choice is not None:
            body["tool_choice"] = "any" if options.tool_choice == "required" else options.tool_choice
    body |= _thinking_fields(model, options)
    headers: dict[str, str | None] = {"authorization": f"Bearer {options.api_key}"} if options.api_key else {}
    if options.session_id and options.cache_retention != "none":
        body["prompt_cache_key"] = headers["x-affinity"] = options.session_id
    body |= model.sampling_params or {}
    body |= (model.sampling_params_by_thinking_level or {}).get(requested_level(model, options), {})
    body |= options.sampling_params
    return WireRequest(f"{model.base_url.rstrip('/')}/v1/chat/completions", body, headers)


def _thinking_fields(model: Model, options: StreamOptions) -> dict[str, Any]:
    """Models with a level map are asked for an effort, those without to reason at all."""
    level = requested_level(model, options)
    words = {word for word in (model.thinking_level_map or {}).values() if word}
    if not model.reasoning or (level == "off" and provider_level(model, level) not in words):
        return {}
    return {"reasoning_effort": provider_level(model, level)} if words else {"prompt_mode": "reasoning"}


def _tool(tool: ToolSpec, compat: CompletionsCompat) -> dict[str, Any]:
    strict = strict_parameters(tool, compat.supports_strict_mode)
    function: dict[str, Any] = {"name": tool.name, "description": tool.description}
    function["parameters"] = tool.parameters if strict is None else strict
    if strict is not None:
        function["strict"] = True
    return {"type": "function", "function": function}


def id_rule(model: Model) -> IdRule:
    """Ids are exactly nine letters and digits."""

    def rule(call_id: str, attempt: int) -> str:
        if not attempt and re.fullmatch(rf"[A-Za-z0-9]{{{ID_LENGTH}}}", call_id):
            return call_id
        return short_hash(f"{call_id}#{attempt}", ID_LENGTH)

    return rule


# ------------------------------------------------------------------------------------------------------------ messages


def _messages(context: Context) -> list[dict[str, Any]]:
    """Return the messages. A user may not speak right behind results, so the assistant does in between."""
    messages: list[dict[str, Any]] = []
    if context.system_prompt:
        messages.append({"role": "system", "content": context.system_prompt})
    for message in context.messages:
        if isinstance(message, UserMessage) and messages and messages[-1]["role"] == "tool":
            messages.append({"role": "assistant", "content": RESULTS_TAKEN_IN})
        messages.append(_message(message))
    return messages


def _message(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage():
            content = message.content
            return {"role": "user", "content": content if isinstance(content, str) else _parts(content)}
        case AssistantMessage():
            return _answer(message)
        case ToolResultMessage():
            fields = {"role": "tool", "name": message.tool_name, "tool_call_id": message.tool_call_id}
            return {**fields, "content": _result(message)}


def _parts(blocks: Sequence[UserBlock]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case TextContent():
                parts.append({"type": "text", "text": block.text})
            case ImageContent():
                parts.append({"type": "image_url", "image_url": f"data:{block.mime_type};base64,{block.data}"})
            case _:
                pass
    return parts


def _answer(message: AssistantMessage) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case TextContent() if block.text:
                content.append({"type": "text", "text": block.text})
            case ThinkingContent() if block.thinking:
                content.append({"type": "thinking", "thinking": [{"type": "text", "text": block.thinking}]})
            case _:
                pass
    fields: dict[str, Any] = {"role": "assistant", "content": content or ""}
    if calls := message.tool_calls:
        fields["tool_calls"] = [_call(call) for call in calls]
    return fields


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dumps(call.arguments)}}


def _result(result: ToolResultMessage) -> list[dict[str, Any]]:
    images = [block for block in result.content if isinstance(block, ImageContent)]
    text = text_of(result.content, "\n") or (SEE_IMAGE if images else NO_OUTPUT)
    return [{"type": "text", "text": f"{FAILED if result.is_error else ''}{text}"}, *_parts(images)]


PROTOCOL = WireProtocol(build_request=build_request, builder=ConversationsBuilder, id_rule=id_rule)
