"""The wire protocol of OpenAI's chat completions: the request. `POST {base}/chat/completions`.

Source: providers, section 5. The response is read by `piolet.llm.protocols.openai_completions_stream`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from piolet.base.json import dumps
from piolet.llm.estimate import output_limit
from piolet.llm.handoff import IdRule, short_hash, word_id
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
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
from piolet.llm.protocols.azure_openai import azure_base_url, deployment, is_azure
from piolet.llm.protocols.openai_compat import CompletionsCompat, compat_of, keeps_prompt_cache_key
from piolet.llm.protocols.openai_completions_stream import CompletionsBuilder
from piolet.llm.schemas import grammar_field, grammar_of, strict_parameters
from piolet.llm.thinking import ANSWER_TOKENS, provider_level, requested_level, thinking_budget

NO_OUTPUT = "(no tool output)"
SEE_IMAGE = "(see attached image)"
IMAGES_FOLLOW = "Attached image(s) from tool result:"
RESULTS_TAKEN_IN = "I have taken in the tool results."


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    compat = compat_of(model)
    level = requested_level(model, options)
    limit = output_limit(model, context, options.max_tokens)
    body: dict[str, Any] = {"model": model.id, "messages": _messages(model, context, compat), "stream": True}
    if compat.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        body["store"] = False
    if limit > 0:
        body[compat.max_tokens_field] = limit
    if options.temperature is not None:
        body["temperature"] = options.temperature
    body |= _tools(context, options, compat)
    body |= _cache_fields(model, options, compat)
    if model.reasoning:
        body |= _thinking_fields(model, options, level, limit, compat)
    if compat.vllm_priority is not None:
        body["priority"] = compat.vllm_priority
    if compat.open_router_routing is not None:
        body["provider"] = compat.open_router_routing
    if compat.vercel_gateway_routing is not None:
        body["providerOptions"] = {"gateway": compat.vercel_gateway_routing}
    if compat.cache_control_format == "anthropic" and options.cache_retention != "none":
        _mark_for_cache(body, options, compat)
    body |= model.sampling_params or {}
    body |= (model.sampling_params_by_thinking_level or {}).get(level, {})
    body |= options.sampling_params
    base_url = model.base_url.rstrip("/")
    if is_azure(model):
        base_url = azure_base_url(model, options)
        body["model"] = deployment(model, options)
    return WireRequest(f"{base_url}/chat/completions", body, _headers(options, compat))


def _headers(options: StreamOptions, compat: CompletionsCompat) -> dict[str, str | None]:
    headers: dict[str, str | None] = {}
    if options.api_key:
        headers["authorization"] = f"Bearer {options.api_key}"
    session = options.session_id
    if session and compat.send_session_affinity_headers and options.cache_retention != "none":
        if compat.session_affinity_format == "openrouter":
            headers["x-session-id"] = session
        else:
            headers |= {"x-client-request-id": session, "x-session-affinity": session}
            if compat.session_affinity_format == "openai":
                headers["session_id"] = session
    return headers


# ------------------------------------------------------------------------------------------------------------ messages


def id_rule(model: Model) -> IdRule:
    """Ids of other models: ``call|item`` as one word of at most 40 characters; the provider openai cuts all at 40."""

    def rule(call_id: str, attempt: int) -> str:
        call, composite, _ = call_id.partition("|")
        plain = word_id(40)(call_id, 0) if composite else call_id
        if attempt or (composite and len(call_id) > 40):
            return f"{word_id(31)(call, 0)}_{short_hash(f'{call_id}#{attempt}' if attempt else call_id)}"
        if model.provider == "openai":
            plain = plain[:40]
        return plain or "call"

    return rule


def _messages(model: Model, context: Context, compat: CompletionsCompat) -> list[dict[str, Any]]:
    history = context.messages
    messages: list[dict[str, Any]] = []
    if context.system_prompt:
        role = "developer" if model.reasoning and compat.supports_developer_role else "system"
        messages.append({"role": role, "content": context.system_prompt})
    grammar = compat.supports_openai_grammar_tools
    text_fields = {tool.name: grammar_field(tool) or "" for tool in context.tools if grammar_of(tool, grammar)}
    images: list[ImageContent] = []
    for position, message in enumerate(history):
        match message:
            case UserMessage():
                _append_user(messages, _user_content(message.content), compat)
            case AssistantMessage():
                messages.append(_assistant(message, text_fields, compat))
            case ToolResultMessage():
                messages.append(_tool_result(message, compat))
                images += [block for block in message.content if isinstance(block, ImageContent)]
                following = history[position + 1] if position + 1 < len(history) else None
                if images and not isinstance(following, ToolResultMessage):
                    _append_user(messages, [_text_part(IMAGES_FOLLOW), *map(_image_part, images)], compat)
                    images = []
    return messages


def _append_user(messages: list[dict[str, Any]], content: Any, compat: CompletionsCompat) -> None:
    if compat.requires_assistant_after_tool_result and messages and messages[-1]["role"] == "tool":
        messages.append({"role": "assistant", "content": RESULTS_TAKEN_IN})
    messages.append({"role": "user", "content": content})


def _user_content(content: str | Sequence[UserBlock]) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    parts = []
    for block in content:
        match block:
            case TextContent():
                parts.append(_text_part(block.text))
            case ImageContent():
                parts.append(_image_part(block))
            case _:
                pass
    return parts


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image_part(block: ImageContent) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _assistant(message: AssistantMessage, text_fields: Mapping[str, str], compat: CompletionsCompat) -> dict[str, Any]:
    text: str | None = message.text
    thinking = [block for block in message.content if isinstance(block, ThinkingContent)]
    if compat.requires_thinking_as_text and (plain := "\n".join(b.thinking for b in thinking if b.thinking)):
        text = f"<thinking>\n{plain}\n</thinking>\n{text}"
    if not text:
        text = "" if compat.requires_non_null_assistant_content else None
    result: dict[str, Any] = {"role": "assistant", "content": text}
    if not compat.requires_thinking_as_text:
        result |= _replayed_thinking(thinking)
    if calls := message.tool_calls:
        result["tool_calls"] = [_call(call, text_fields) for call in calls]
    if compat.requires_reasoning_content_on_assistant_messages:
        result.setdefault("reasoning_content", "")
    return result


def _replayed_thinking(blocks: Sequence[ThinkingContent]) -> dict[str, Any]:
    """Return the field that thinking came in: its signature is the field's name, or the structured entries as JSON."""
    fields: dict[str, str] = {}
    for block in blocks:
        signature = block.thinking_signature or ""
        if signature.startswith("["):
            return {"reasoning_details": json.loads(signature)}
        if signature in ("reasoning_content", "reasoning", "reasoning_text"):
            fields[signature] = f"{fields[signature]}\n{block.thinking}" if signature in fields else block.thinking
    return dict(list(fields.items())[:1])


def _call(call: ToolCall, text_fields: Mapping[str, str]) -> dict[str, Any]:
    if call.name in text_fields:
        text = str(call.arguments.get(text_fields[call.name], ""))
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": dumps(call.arguments)},
    }


def _tool_result(message: ToolResultMessage, compat: CompletionsCompat) -> dict[str, Any]:
    text = "\n".join(block.text for block in message.content if isinstance(block, TextContent))
    if not text:
        text = SEE_IMAGE if any(isinstance(block, ImageContent) for block in message.content) else NO_OUTPUT
    result = {"role": "tool", "content": text, "tool_call_id": message.tool_call_id}
    if compat.requires_tool_result_name:
        result["name"] = message.tool_name
    return result


# --------------------------------------------------------------------------------------------------------------- tools


def _tools(context: Context, options: StreamOptions, compat: CompletionsCompat) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if context.tools:
        fields["tools"] = [_tool(tool, compat) for tool in context.tools]
        if options.tool_choice is not None:
            fields["tool_choice"] = options.tool_choice
        if compat.zai_tool_stream:
            fields["tool_stream"] = True
    elif compat.requires_tools_with_tool_history and any(isinstance(m, ToolResultMessage) for m in context.messages):
        fields["tools"] = []
    return fields


def _tool(tool: ToolSpec, compat: CompletionsCompat) -> dict[str, Any]:
    if grammar := grammar_of(tool, compat.supports_openai_grammar_tools):
        form = {"type": "grammar", "grammar": dict(zip(("syntax", "definition"), grammar, strict=True))}
        custom = {"name": tool.name, "description": tool.description, "format": form}
        return {"type": "custom", "custom": custom}
    strict = strict_parameters(tool, compat.supports_strict_mode)
    parameters = tool.parameters if strict is None else strict
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": parameters}
    if compat.supports_strict_mode:
        function["strict"] = strict is not None
    return {"type": "function", "function": function}


# --------------------------------------------------------------------------------------------------- thinking, caching


def _thinking_fields(
    model: Model, options: StreamOptions, level: ThinkingLevel, limit: int, compat: CompletionsCompat
) -> dict[str, Any]:
    """Return the fields that ask for thinking at `level`, in the form that the server knows."""
    on = level != "off"
    word = provider_level(model, level)
    mapped = (model.thinking_level_map or {}).get(level) is not None
    budget = min(thinking_budget(level, options.thinking_budgets), limit - ANSWER_TOKENS) if on else 0
    effort: dict[str, Any] = {"reasoning_effort": word} if compat.supports_reasoning_effort else {}
    effort_when_on = effort if on else {}
    fields: dict[str, Any]
    match compat.thinking_format:
        case "openrouter":
            fields = {"reasoning": {"effort": word if on or mapped else "none"}}
        case "deepseek":
            fields = {"thinking": {"type": "enabled" if on else "disabled"}, **effort_when_on}
        case "zai":
            fields = {"thinking": {"type": "enabled", "clear_thinking": False} if on else {"type": "disabled"}}
            fields |= effort_when_on
        case "together":
            fields = {"reasoning": {"enabled": on}, **effort_when_on}
        case "qwen":
            fields = {"enable_thinking": on, **effort_when_on}
        case "qwen-chat-template":
            fields = {"chat_template_kwargs": {"enable_thinking": on, "preserve_thinking": True}}
        case "chat-template":
            fields = _template("chat_template_kwargs", compat.chat_template_kwargs, on, word, mapped, budget)
        case "string-thinking":
            fields = {"thinking": word if on or mapped else "none"}
        case "ant-ling" if on:
            fields = {"reasoning": {"effort": word}} if mapped else {}
        case "baseten":
            fields = _template("chat_template_args", compat.chat_template_args, on, word, mapped, budget)
            fields |= effort if on or mapped else {}
        case _:
            fields = effort if on or mapped else {}
    field = compat.thinking_token_budget_field
    if field is None and compat.supports_thinking_token_budget:
        field = "thinking_token_budget"
    if field is not None and budget > 0:
        fields[field] = budget
    return fields


def _template(field: str, template: dict[str, Any], on: bool, word: str, mapped: bool, budget: int) -> dict[str, Any]:
    """Fill in the ``{"$var": …}`` of a model's own chat template arguments; what has no value is left out."""
    values = {
        "thinking.enabled": on,
        "thinking.effort": word if on or mapped else None,
        "thinking.budget": budget if budget > 0 else None,
    }
    filled: dict[str, Any] = {}
    for name, value in template.items():
        if isinstance(value, dict) and "$var" in value:
            if value.get("omitWhenOff") and not on:
                continue
            value = values.get(value["$var"])
            if value is None:
                continue
        filled[name] = value
    return {field: filled} if filled else {}


def _cache_fields(model: Model, options: StreamOptions, compat: CompletionsCompat) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if options.cache_retention == "none":
        return fields
    long = options.cache_retention == "long" and compat.supports_long_cache_retention
    mode = compat.prompt_cache_key_mode
    wanted = mode == "enabled" or (mode == "auto" and (long or keeps_prompt_cache_key(model)))
    if options.session_id and wanted:
        fields["prompt_cache_key"] = options.session_id[:64]
    if long:
        fields["prompt_cache_retention"] = "24h"
    return fields


def _mark_for_cache(body: dict[str, Any], options: StreamOptions, compat: CompletionsCompat) -> None:
    """Mark the ends of what stays the same: the prompt, the tools, the last text of the conversation."""
    mark: dict[str, Any] = {"type": "ephemeral"}
    if options.cache_retention == "long" and compat.supports_long_cache_retention:
        mark["ttl"] = "1h"
    messages = body["messages"]
    for candidates in (messages[:1], reversed(messages)):
        for message in candidates:
            if _mark_last_text(message, mark):
                break
    if body.get("tools"):
        body["tools"][-1]["cache_control"] = mark


def _mark_last_text(message: dict[str, Any], mark: dict[str, Any]) -> bool:
    content = message["content"]
    if isinstance(content, str) and content:
        message["content"] = content = [_text_part(content)]
    for part in reversed(content or []):
        if part["type"] == "text":
            part["cache_control"] = mark
            return True
    return False


PROTOCOL = WireProtocol(build_request=build_request, builder=CompletionsBuilder, id_rule=id_rule)
