"""The wire protocol of Anthropic's messages: the request. `POST {base}/v1/messages`.

Source: providers, section 7. The response is read by `piolet.llm.protocols.anthropic_messages_stream`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from piolet.llm.handoff import word_id
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ThinkingLevel,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from piolet.llm.model import Context, Model, StreamOptions, ToolSpec
from piolet.llm.protocols import WireProtocol, WireRequest
from piolet.llm.protocols.anthropic_compat import FIRST_EFFORT, MessagesCompat, compat_of, effort, limits_and_thinking
from piolet.llm.protocols.anthropic_messages_stream import MessagesBuilder
from piolet.llm.schemas import strict_parameters
from piolet.llm.thinking import level_of_answer, requested_level

NO_OUTPUT = "(no tool output)"
SEE_IMAGE = "(see attached image)"
IMAGE_FOLLOWS = "(image attached after the tool results)"


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    compat = compat_of(model)
    level = requested_level(model, options)
    mark = _cache_mark(options, compat)
    efforts = compat.supports_mid_convo_effort and compat.force_adaptive_thinking and level != "off"
    messages = _messages(context.messages, compat, model if efforts else None)
    body: dict[str, Any] = {"model": model.id, "messages": messages, "stream": True}
    body |= limits_and_thinking(model, context, options, level, adaptive=compat.force_adaptive_thinking)
    if efforts:
        messages.append(_effort_from_here(effort(model, level)))
        body["output_config"] = {"effort": FIRST_EFFORT}
        body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    if context.system_prompt:
        body["system"] = [{"type": "text", "text": context.system_prompt, **mark}]
    if context.tools:
        body["tools"] = [_tool(tool, compat) for tool in context.tools]
        if compat.supports_cache_control_on_tools:
            body["tools"][-1] |= mark
        if options.tool_choice is not None:
            body["tool_choice"] = {"type": "any" if options.tool_choice == "required" else options.tool_choice}
    if options.temperature is not None and level == "off" and compat.supports_temperature:
        body["temperature"] = options.temperature
    if compat.allowed_fallback_models:
        body["fallbacks"] = [{"model": fallback.model} for fallback in compat.allowed_fallback_models]
    if isinstance(user := options.metadata.get("user_id"), str):
        body["metadata"] = {"user_id": user}
    _mark_last_user_block(body["messages"], mark)
    return WireRequest(
        f"{model.base_url.rstrip('/')}/v1/messages", body, _headers(model, context, options, level, compat)
    )


def _headers(
    model: Model, context: Context, options: StreamOptions, level: ThinkingLevel, compat: MessagesCompat
) -> dict[str, str | None]:
    headers: dict[str, str | None] = {"anthropic-version": "2023-06-01"}
    betas = []
    if options.api_key:
        of_login = options.api_key.startswith("sk-ant-oat")
        if of_login or model.provider == "github-copilot":
            headers["authorization"] = f"Bearer {options.api_key}"
        else:
            headers["x-api-key"] = options.api_key
        if of_login:
            betas.append("oauth-2025-04-20")
    if context.tools and not compat.supports_eager_tool_input_streaming:
        betas.append("fine-grained-tool-streaming-2025-05-14")
    if level != "off" and not compat.force_adaptive_thinking:
        betas.append("interleaved-thinking-2025-05-14")
    if compat.supports_mid_convo_effort:
        betas += ["mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01"]
    if compat.allowed_fallback_models:
        betas.append("server-side-fallback-2026-07-01")
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    if options.session_id and compat.send_session_affinity_headers and options.cache_retention != "none":
        openrouter = compat.session_affinity_format == "openrouter"
        headers["x-session-id" if openrouter else "x-session-affinity"] = options.session_id
    return headers


# ------------------------------------------------------------------------------------------------------------- caching


def _cache_mark(options: StreamOptions, compat: MessagesCompat) -> dict[str, Any]:
    if options.cache_retention == "none":
        return {}
    if options.cache_retention == "long" and compat.supports_long_cache_retention:
        return {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    return {"cache_control": {"type": "ephemeral"}}


def _mark_last_user_block(messages: list[dict[str, Any]], mark: dict[str, Any]) -> None:
    last = next((message for message in reversed(messages) if message["role"] == "user"), None)
    if last is None or not mark:
        return
    if isinstance(last["content"], str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    last["content"][-1] |= mark


# ----------------------------------------------------------------------------------------------------- messages, tools


def _tool(tool: ToolSpec, compat: MessagesCompat) -> dict[str, Any]:
    strict = strict_parameters(tool, compat.supports_strict_tools)
    fields: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if compat.supports_eager_tool_input_streaming:
        fields["eager_input_streaming"] = True
    if strict is not None:
        fields["strict"] = True
    return {**fields, "input_schema": tool.parameters if strict is None else strict}


def _messages(
    history: Sequence[Message], compat: MessagesCompat, model_of_efforts: Model | None
) -> list[dict[str, Any]]:
    """Return the conversation. Before each answer of `model_of_efforts` stands the effort that it was asked for at."""
    messages: list[dict[str, Any]] = []
    results: list[ToolResultMessage] = []
    for position, message in enumerate(history):
        match message:
            case UserMessage():
                messages.append({"role": "user", "content": _user_content(message.content)})
            case AssistantMessage():
                if blocks := _assistant_blocks(message, compat):
                    if model_of_efforts is not None and (word := level_of_answer(message, model_of_efforts)):
                        messages.append(_effort_from_here(word))
                    messages.append({"role": "assistant", "content": blocks})
            case ToolResultMessage():
                results.append(message)
                following = history[position + 1] if position + 1 < len(history) else None
                if not isinstance(following, ToolResultMessage):
                    messages.append({"role": "user", "content": _results(results)})
                    results = []
    return messages


def _effort_from_here(word: str) -> dict[str, Any]:
    return {"role": "system", "content": [], "output_config": {"effort": word}}


def _user_content(content: str | Sequence[UserBlock]) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [_user_block(block) for block in content if isinstance(block, TextContent | ImageContent)]


def _user_block(block: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    return {"type": "image", "source": {"type": "base64", "media_type": block.mime_type, "data": block.data}}


def _assistant_blocks(message: AssistantMessage, compat: MessagesCompat) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case TextContent() if block.text.strip():
                blocks.append({"type": "text", "text": block.text})
            case ThinkingContent(redacted=True):
                blocks.append({"type": "redacted_thinking", "data": block.thinking_signature or ""})
            case ThinkingContent() if block.thinking_signature or compat.allow_empty_signature:
                signature = block.thinking_signature or ""
                blocks.append({"type": "thinking", "thinking": block.thinking, "signature": signature})
            case ThinkingContent():
                blocks.append({"type": "text", "text": block.thinking})
            case ToolCall():
                blocks.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments})
            case _:
                pass
    return blocks


def _results(results: Sequence[ToolResultMessage]) -> list[dict[str, Any]]:
    """Return the results of one turn as blocks of one user message.

    A result that is an error may hold text only: its images follow behind all results.
    """
    blocks: list[dict[str, Any]] = []
    images_of_errors: list[dict[str, Any]] = []
    for result in results:
        images = [block for block in result.content if isinstance(block, ImageContent)]
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        content: str | list[dict[str, Any]]
        if images and result.is_error:
            content = f"{text}\n{IMAGE_FOLLOWS}" if text else IMAGE_FOLLOWS
            caption = f"Images from the failed call {result.tool_call_id} ({result.tool_name}):"
            images_of_errors += [{"type": "text", "text": caption}, *map(_user_block, images)]
        elif images:
            content = [_user_block(block) for block in result.content if isinstance(block, TextContent | ImageContent)]
            if not text:
                content.insert(0, {"type": "text", "text": SEE_IMAGE})
        else:
            content = text or NO_OUTPUT
        blocks.append(
            {
                "type": "tool_result",
                "tool_use_id": result.tool_call_id,
                "content": content,
                "is_error": result.is_error,
            }
        )
    return blocks + images_of_errors


PROTOCOL = WireProtocol(build_request=build_request, builder=MessagesBuilder, id_rule=lambda model: word_id(64))
