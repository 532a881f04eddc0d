"""The wire protocol of OpenAI's responses: the request. `POST {base}/responses`.

Nothing is kept on the server: the whole conversation is sent as items, with reasoning in its encrypted form. Source:
providers, section 6. The response is read by `piolet.llm.protocols.openai_responses_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from piolet.base.json import dumps, loads
from piolet.llm.estimate import output_limit
from piolet.llm.handoff import IdRule, short_hash, word_id
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
from piolet.llm.protocols.openai_responses_compat import ResponsesCompat, compat_of
from piolet.llm.protocols.openai_responses_stream import ResponsesBuilder
from piolet.llm.schemas import grammar_field, grammar_of, strict_parameters
from piolet.llm.thinking import level_of_answer, provider_level, requested_level

NO_OUTPUT = "(no tool output)"
MAX_ID = 64
MIN_OUTPUT_TOKENS = 16
#: The effort that stands above a conversation whose items change it.
FIRST_EFFORT = "medium"


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    compat = compat_of(model)
    return WireRequest(
        f"{model.base_url.rstrip('/')}/responses",
        request_body(model, context, options, compat),
        _headers(options, compat),
    )


def request_body(model: Model, context: Context, options: StreamOptions, compat: ResponsesCompat) -> dict[str, Any]:
    """Return the body for one answer, which Azure takes too."""
    grammar = compat.supports_openai_grammar_tools
    text_fields = {tool.name: grammar_field(tool) or "" for tool in context.tools if grammar_of(tool, grammar)}
    level = requested_level(model, options)
    efforts = compat.supports_mid_convo_effort and level != "off"
    items = _Items(text_fields, model if efforts else None)
    if context.system_prompt:
        role = "developer" if model.reasoning and compat.supports_developer_role else "system"
        items.sent.append({"role": role, "content": context.system_prompt})
    for position, message in enumerate(context.messages):
        items.add(position, message)
    if efforts:
        items.sent.append(_effort_from_here(provider_level(model, level)))
    body: dict[str, Any] = {"model": model.id, "input": items.sent, "stream": True, "store": False}
    if compat.supports_max_output_tokens:
        body["max_output_tokens"] = max(MIN_OUTPUT_TOKENS, output_limit(model, context, options.max_tokens))
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if context.tools:
        body["tools"] = [_tool(tool, compat) for tool in context.tools]
        if options.tool_choice is not None:
            body["tool_choice"] = options.tool_choice
    body |= _reasoning(model, options, compat)
    body |= _cache_fields(options, compat)
    body |= model.sampling_params or {}
    body |= (model.sampling_params_by_thinking_level or {}).get(level, {})
    body |= options.sampling_params
    return body


def _headers(options: StreamOptions, compat: ResponsesCompat) -> dict[str, str | None]:
    headers: dict[str, str | None] = {}
    if options.api_key:
        headers["authorization"] = f"Bearer {options.api_key}"
    session = options.session_id
    if session and options.cache_retention != "none":
        if compat.session_affinity_format == "openrouter":
            headers["x-session-id"] = session
        else:
            headers["x-client-request-id"] = session
            if compat.session_affinity_format == "openai":
                headers["session-id"] = session
    return headers


def _reasoning(model: Model, options: StreamOptions, compat: ResponsesCompat) -> dict[str, Any]:
    if not model.reasoning:
        return {}
    level = requested_level(model, options)
    word = provider_level(model, level)
    if level == "off":
        return {"reasoning": {"effort": "none" if word == "off" else word}} if compat.supports_reasoning_effort else {}
    word = FIRST_EFFORT if compat.supports_mid_convo_effort else word
    effort = {"effort": word} if compat.supports_reasoning_effort else {}
    return {"reasoning": {**effort, "summary": "auto"}, "include": ["reasoning.encrypted_content"]}


def _cache_fields(options: StreamOptions, compat: ResponsesCompat) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if options.cache_retention == "none":
        return fields
    if options.session_id and compat.prompt_cache_key_mode != "disabled":
        fields["prompt_cache_key"] = options.session_id[:64]
    if options.cache_retention == "long" and compat.supports_long_cache_retention:
        if compat.supports_explicit_prompt_cache_mode:
            fields["prompt_cache_options"] = {"ttl": "30m"}
        else:
            fields["prompt_cache_retention"] = "24h"
    return fields


def _tool(tool: ToolSpec, compat: ResponsesCompat) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if grammar := grammar_of(tool, compat.supports_openai_grammar_tools):
        syntax, definition = grammar
        return {"type": "custom", **fields, "format": {"type": "grammar", "syntax": syntax, "definition": definition}}
    strict = strict_parameters(tool, compat.supports_strict_mode)
    fields["parameters"] = tool.parameters if strict is None else strict
    if compat.supports_strict_mode:
        fields["strict"] = strict is not None
    return {"type": "function", **fields}


# ----------------------------------------------------------------------------------------------------------------- ids


def id_rule(model: Model) -> IdRule:
    """Ids are ``call_id|item_id`` or a call id alone. An item id that this model did not make is replaced."""
    word = word_id(MAX_ID)

    def rule(call_id: str, attempt: int) -> str:
        call, _, item = call_id.partition("|")
        call = word(call, attempt).rstrip("_") or "call"
        return f"{call}|fc_{short_hash(item, 16)}" if item else call

    return rule


# --------------------------------------------------------------------------------------------------------------- items


class _Items:
    """The conversation as items, `sent`. `text_fields`: the argument that a tool with a grammar has, by its name.
    `model_of_efforts`: before its answers stands the effort that each was asked for at.

    A call id that the conversation has twice is replaced the second time: some servers count anew in each answer.
    """

    def __init__(self, text_fields: Mapping[str, str], model_of_efforts: Model | None) -> None:
        self.sent: list[dict[str, Any]] = []
        self._model_of_efforts = model_of_efforts
        self._text_fields = text_fields
        self._call_ids: dict[str, str] = {}
        self._taken: set[str] = set()
        self._custom: set[str] = set()

    def add(self, position: int, message: Message) -> None:
        match message:
            case UserMessage():
                self.sent.append({"role": "user", "content": _user_content(message.content)})
            case AssistantMessage():
                self._add_answer(position, message)
            case ToolResultMessage():
                custom = message.tool_call_id in self._custom
                output = {"type": "custom_tool_call_output" if custom else "function_call_output"}
                call_id = self._call_ids[message.tool_call_id]
                self.sent.append({**output, "call_id": call_id, "output": _output(message)})

    def _add_answer(self, position: int, message: AssistantMessage) -> None:
        """Add the blocks of an answer. Reasoning is refused without the item that it led to, so it waits for one."""
        if self._model_of_efforts is not None and (word := level_of_answer(message, self._model_of_efforts)):
            self.sent.append(_effort_from_here(word))
        reasoning: list[dict[str, Any]] = []
        for number, block in enumerate(message.content):
            match block:
                case ThinkingContent():
                    if item := _stored_item(block.thinking_signature):
                        reasoning.append(item)
                case TextContent():
                    self.sent += [*reasoning, _message_item(block, f"msg_{position}_{number}")]
                    reasoning = []
                case ToolCall():
                    self.sent += [*reasoning, self._call_item(block)]
                    reasoning = []
                case _:
                    pass

    def _call_item(self, call: ToolCall) -> dict[str, Any]:
        call_id, _, item_id = call.id.partition("|")
        if call_id in self._taken:
            call_id = f"{call_id[: MAX_ID - 9]}_{short_hash(call.id)}"
        self._taken.add(call_id)
        self._call_ids[call.id] = call_id
        item: dict[str, Any] = {"call_id": call_id, "name": call.name}
        custom = call.name in self._text_fields
        if item_id and item_id.startswith("ctc") == custom:
            item["id"] = item_id
        if call.namespace:
            item["namespace"] = call.namespace
        if custom:
            self._custom.add(call.id)
            text = str(call.arguments.get(self._text_fields[call.name], ""))
            return {"type": "custom_tool_call", **item, "input": text}
        return {"type": "function_call", **item, "arguments": dumps(call.arguments)}


def _effort_from_here(word: str) -> dict[str, Any]:
    return {"type": "configuration_update", "reasoning": {"effort": word}}


def _user_content(content: str | Sequence[UserBlock]) -> list[dict[str, Any]]:
    blocks = [TextContent(content)] if isinstance(content, str) else content
    return [_part(block) for block in blocks if isinstance(block, TextContent | ImageContent)]


def _part(block: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "input_text", "text": block.text}
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{block.mime_type};base64,{block.data}"}


def _output(result: ToolResultMessage) -> str | list[dict[str, Any]]:
    if any(isinstance(block, ImageContent) for block in result.content):
        return _user_content(result.content)
    return text_of(result.content, "\n") or NO_OUTPUT


def _stored_item(signature: str | None) -> dict[str, Any] | None:
    """Return the reasoning item that a signature is, as the server gave it."""
    item = _json(signature)
    return item if isinstance(item, dict) and item.get("type") == "reasoning" else None


def _message_item(block: TextContent, own_id: str) -> dict[str, Any]:
    """Return a text as an item under the id that the server gave it; some older servers take none without an id."""
    signature = _json(block.text_signature)
    stored = signature if isinstance(signature, dict) else {"id": block.text_signature}
    known = stored.get("id")
    item_id = known if isinstance(known, str) and 0 < len(known) <= MAX_ID else own_id
    content = [{"type": "output_text", "text": block.text, "annotations": []}]
    item = {"type": "message", "role": "assistant", "id": item_id, "status": "completed", "content": content}
    return {**item, "phase": stored["phase"]} if stored.get("phase") else item


def _json(text: str | None) -> Any:
    try:
        return loads(text or "")
    except ValueError:
        return None


PROTOCOL = WireProtocol(build_request=build_request, builder=ResponsesBuilder, id_rule=id_rule)
