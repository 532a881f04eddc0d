"""The wire protocol of Amazon Bedrock: the request. `POST {base}/model/{id}/converse-stream`.

Source: providers, section 9. The response is read by `piolet.llm.protocols.bedrock_converse_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from piolet.llm.handoff import word_id
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
from piolet.llm.protocols.aws_auth import base_url, bearer_token, region, sign
from piolet.llm.protocols.aws_event_stream import EventStreamSplitter
from piolet.llm.protocols.bedrock_converse_stream import ConverseBuilder, error_label
from piolet.llm.protocols.bedrock_models import caches, caches_for_an_hour, is_claude, output_and_thinking
from piolet.llm.schemas import strict_parameters
from piolet.llm.thinking import requested_level

NO_OUTPUT = "(no tool output)"
IMAGE_FOLLOWS = "(image attached after the tool results)"
_FORMATS = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    level = requested_level(model, options)
    limit, thinking = output_and_thinking(model, context, options, level, region(model, options))
    mark = _cache_mark(model, options)
    body: dict[str, Any] = {"messages": _messages(model, context.messages)}
    if context.system_prompt and context.system_prompt.strip():
        body["system"] = [{"text": context.system_prompt}, *mark]
    body["inferenceConfig"] = {"maxTokens": limit} if limit > 0 else {}
    if options.temperature is not None and not thinking:
        body["inferenceConfig"]["temperature"] = options.temperature
    if tools := _tools(model, context, options):
        body["toolConfig"] = tools
    if thinking:
        body["additionalModelRequestFields"] = thinking
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            message["content"] += mark
            break
    token = bearer_token(options)
    return WireRequest(
        f"{base_url(model, options)}/model/{quote(model.id, safe='')}/converse-stream",
        body,
        {"authorization": f"Bearer {token}"} if token else {},
    )


def _cache_mark(model: Model, options: StreamOptions) -> list[dict[str, Any]]:
    if options.cache_retention == "none" or not caches(model, options):
        return []
    long = options.cache_retention == "long" and caches_for_an_hour(model)
    return [{"cachePoint": {"type": "default", **({"ttl": "1h"} if long else {})}}]


def _tools(model: Model, context: Context, options: StreamOptions) -> dict[str, Any]:
    """Return the tools on offer. Calls in the history are refused without any, so then their names stand for them."""
    tools: Sequence[ToolSpec] = context.tools
    if not tools:
        answers = [message for message in context.messages if isinstance(message, AssistantMessage)]
        names = dict.fromkeys(call.name for answer in answers for call in answer.tool_calls)
        tools = [ToolSpec(name, "No longer on offer.", {"type": "object"}) for name in names]
    if not tools:
        return {}
    config: dict[str, Any] = {"tools": [{"toolSpec": _tool(model, tool)} for tool in tools]}
    if context.tools and options.tool_choice in ("auto", "required"):
        config["toolChoice"] = {"any" if options.tool_choice == "required" else "auto": {}}
    return config


def _tool(model: Model, tool: ToolSpec) -> dict[str, Any]:
    strict = strict_parameters(tool, bool((model.compat or {}).get("supportsStrictMode")))
    fields: dict[str, Any] = {"name": tool.name}
    if tool.description.strip():
        fields["description"] = tool.description
    fields["inputSchema"] = {"json": tool.parameters if strict is None else strict}
    return {**fields, "strict": True} if strict is not None else fields


# ------------------------------------------------------------------------------------------------------------ messages


def _messages(model: Model, history: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages. The service wants user and assistant in turn: neighbours of one role become one."""
    messages: list[dict[str, Any]] = []
    results: list[ToolResultMessage] = []
    for position, message in enumerate(history):
        match message:
            case UserMessage():
                _append(messages, "user", _user_content(message.content))
            case AssistantMessage():
                _append(messages, "assistant", _answer(model, message))
            case ToolResultMessage():
                results.append(message)
                following = history[position + 1] if position + 1 < len(history) else None
                if not isinstance(following, ToolResultMessage):
                    _append(messages, "user", _results(model, results))
                    results = []
    return messages


def _append(messages: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += content
    elif content:
        messages.append({"role": role, "content": content})


def _user_content(content: str | Sequence[UserBlock]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [_block(block) for block in content if isinstance(block, TextContent | ImageContent)]


def _block(block: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"text": block.text}
    if block.mime_type not in _FORMATS:
        return {"text": f"(image omitted: {block.mime_type} is not supported)"}
    return {"image": {"format": _FORMATS[block.mime_type], "source": {"bytes": block.data}}}


def _answer(model: Model, message: AssistantMessage) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case TextContent() if block.text.strip():
                content.append({"text": block.text})
            case ThinkingContent():
                content += _thinking(model, block)
            case ToolCall():
                call = {"toolUseId": block.id, "name": block.name, "input": block.arguments}
                content.append({"toolUse": call})
            case _:
                pass
    return content


def _thinking(model: Model, block: ThinkingContent) -> list[dict[str, Any]]:
    """Return reasoning as it goes back. Only Claude signs it, and takes none without a signature."""
    if block.redacted:
        return [{"reasoningContent": {"redactedContent": block.thinking_signature}}] if block.thinking_signature else []
    claude = is_claude(model)
    if claude and block.thinking_signature:
        signed = {"text": block.thinking, "signature": block.thinking_signature}
        return [{"reasoningContent": {"reasoningText": signed}}]
    if not block.thinking.strip():
        return []
    return [{"text": block.thinking}] if claude else [{"reasoningContent": {"reasoningText": {"text": block.thinking}}}]


def _results(model: Model, results: Sequence[ToolResultMessage]) -> list[dict[str, Any]]:
    """Return the results of one turn. A result of Claude's that is an error may hold text only: its images follow."""
    blocks: list[dict[str, Any]] = []
    behind: list[dict[str, Any]] = []
    for result in results:
        images = [_block(block) for block in result.content if isinstance(block, ImageContent)]
        text = text_of(result.content, "\n")
        content: list[dict[str, Any]] = _user_content(result.content)
        if images and result.is_error and is_claude(model):
            content = [*([{"text": text}] if text else []), {"text": IMAGE_FOLLOWS}]
            caption = f"Images from the failed call {result.tool_call_id} ({result.tool_name}):"
            behind += [{"text": caption}, *images]
        fields = {"toolUseId": result.tool_call_id, "content": content or [{"text": NO_OUTPUT}]}
        blocks.append({"toolResult": {**fields, "status": "error" if result.is_error else "success"}})
    return blocks + behind


def error_name(headers: Mapping[str, str]) -> str:
    """Return what the exception of a refused request is called; its class stands in a header, with more behind it."""
    return error_label(headers.get("x-amzn-errortype", "").partition(":")[0])


PROTOCOL = WireProtocol(
    build_request=build_request,
    builder=ConverseBuilder,
    id_rule=lambda model: word_id(64),
    framing=EventStreamSplitter,
    accept="application/vnd.amazon.eventstream",
    sign=sign,
    error_name=error_name,
)
