"""The wire protocol of Google's generative AI: the request. `POST {base}/models/{id}:streamGenerateContent?alt=sse`.

Source: providers, section 8. The response is read by `piolet.llm.protocols.google_generative_ai_stream`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from piolet.llm.estimate import output_limit
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
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols import WireProtocol, WireRequest
from piolet.llm.protocols.google_generative_ai_stream import GenerativeAiBuilder
from piolet.llm.protocols.google_models import generation, thinking_config, wants_call_ids
from piolet.llm.schemas import strict_parameters
from piolet.llm.thinking import requested_level

NO_OUTPUT = "(no tool output)"
SEE_IMAGE = "(see attached image)"
IMAGES_FOLLOW = "Tool result image:"
UNSIGNED = "skip_thought_signature_validator"
"""What the service takes in the place of the signature of a call that another model made."""

_base64 = re.compile(r"(?:[A-Za-z0-9+/]{4})+|(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=)")


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    url = f"{model.base_url.rstrip('/')}/{model_path(model)}:streamGenerateContent?alt=sse"
    headers: dict[str, str | None] = {"x-goog-api-key": options.api_key} if options.api_key else {}
    return WireRequest(url, request_body(model, context, options), headers)


def model_path(model: Model) -> str:
    """Return where `model` is below the base URL; an id may be a path itself (``tunedModels/…``)."""
    return quote(model.id if "/" in model.id else f"models/{model.id}")


def request_body(model: Model, context: Context, options: StreamOptions) -> dict[str, Any]:
    """Return the body for one answer, which Vertex takes too."""
    config: dict[str, Any] = {}
    if (limit := output_limit(model, context, options.max_tokens)) > 0:
        config["maxOutputTokens"] = limit
    if options.temperature is not None:
        config["temperature"] = options.temperature
    if model.reasoning:
        config["thinkingConfig"] = thinking_config(model, requested_level(model, options), options.thinking_budgets)
    body: dict[str, Any] = {"contents": _contents(model, context.messages), "generationConfig": config}
    if context.system_prompt:
        body["systemInstruction"] = {"parts": [{"text": context.system_prompt}]}
    return body | _tools(model, context, options)


def _tools(model: Model, context: Context, options: StreamOptions) -> dict[str, Any]:
    if not context.tools:
        return {}
    declarations = []
    mode = None
    for tool in context.tools:
        strict = strict_parameters(tool, supported=generation(model) >= 3)
        if strict is not None:
            mode = "VALIDATED"
        schema = _without_const(tool.parameters if strict is None else strict)
        declarations.append({"name": tool.name, "description": tool.description, "parametersJsonSchema": schema})
    match options.tool_choice:
        case "none":
            mode = "NONE"
        case "required":
            mode = "ANY"
        case "auto":
            mode = mode or "AUTO"
    fields: dict[str, Any] = {"tools": [{"functionDeclarations": declarations}]}
    if mode is not None:
        fields["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    return fields


def _without_const(schema: Any) -> Any:
    """Return a schema whose constants are choices of one value: the service does not know ``const``."""
    if isinstance(schema, list):
        return [_without_const(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _without_const(value) for key, value in schema.items()}
    if "const" in schema and not isinstance(schema["const"], dict):
        changed["enum"] = [changed.pop("const")]
    return changed


# ------------------------------------------------------------------------------------------------------------ contents


def _contents(model: Model, history: Sequence[Message]) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    results: list[ToolResultMessage] = []
    for position, message in enumerate(history):
        match message:
            case UserMessage():
                contents.append({"role": "user", "parts": _user_parts(message.content)})
            case AssistantMessage():
                contents.append({"role": "model", "parts": _answer_parts(model, message)})
            case ToolResultMessage():
                results.append(message)
                following = history[position + 1] if position + 1 < len(history) else None
                if not isinstance(following, ToolResultMessage):
                    contents += _results(model, results)
                    results = []
    return contents


def _user_parts(content: str | Sequence[UserBlock]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [_part(block) for block in content if isinstance(block, TextContent | ImageContent)]


def _part(block: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"text": block.text}
    return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}


def _answer_parts(model: Model, message: AssistantMessage) -> list[dict[str, Any]]:
    """Return the parts of an answer, each with the signature that came with it.

    From the third generation on the first call of an answer is refused without one.
    """
    parts: list[dict[str, Any]] = []
    needs_signature = generation(model) >= 3
    for block in message.content:
        match block:
            case TextContent():
                parts.append({"text": block.text, **_signature(block.text_signature)})
            case ThinkingContent():
                parts.append({"text": block.thinking, "thought": True, **_signature(block.thinking_signature)})
            case ToolCall():
                signature = _signature(block.thought_signature)
                if needs_signature and not signature:
                    signature = {"thoughtSignature": UNSIGNED}
                needs_signature = False
                call = {"name": block.name, "args": block.arguments}
                if wants_call_ids(model):
                    call["id"] = block.id
                parts.append({"functionCall": call, **signature})
            case _:
                pass
    return parts


def _signature(value: str | None) -> dict[str, Any]:
    return {"thoughtSignature": value} if value and _base64.fullmatch(value) else {}


def _results(model: Model, results: Sequence[ToolResultMessage]) -> list[dict[str, Any]]:
    """Return the results of one turn as one message. Older models are shown images in another one behind it."""
    images_inside = generation(model) >= 3
    parts: list[dict[str, Any]] = []
    images_behind: list[dict[str, Any]] = []
    for result in results:
        images = [_part(block) for block in result.content if isinstance(block, ImageContent)]
        text = text_of(result.content, "\n") or (SEE_IMAGE if images else NO_OUTPUT)
        response: dict[str, Any] = {"name": result.tool_name, "response": {_outcome(result): text}}
        if wants_call_ids(model):
            response["id"] = result.tool_call_id
        if images and images_inside:
            response["parts"] = images
        else:
            images_behind += images
        parts.append({"functionResponse": response})
    contents = [{"role": "user", "parts": parts}]
    if images_behind:
        contents.append({"role": "user", "parts": [{"text": IMAGES_FOLLOW}, *images_behind]})
    return contents


def _outcome(result: ToolResultMessage) -> str:
    return "error" if result.is_error else "output"


PROTOCOL = WireProtocol(build_request=build_request, builder=GenerativeAiBuilder, id_rule=lambda model: word_id(64))
