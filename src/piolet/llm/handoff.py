"""A stored history, made fit for the model that it goes to next: a pure function, the same for every protocol.

What one model wrote, another may refuse: signatures, ids, pictures, calls without result. Source: providers, section 4.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from piolet.llm.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageContent,
    Message,
    OpaqueBlock,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from piolet.llm.model import Model

IdRule: TypeAlias = Callable[[str, int], str]
"""Makes an id that the target accepts out of any id; numbers from 1 on ask for other forms, when those are taken."""

NO_IMAGES = "(image omitted: model does not support images)"
NO_TOOL_IMAGES = "(tool image omitted: model does not support images)"
NO_RESULT = "No result provided"
MAX_NAME = 64


def prepare_history(messages: Iterable[Message], model: Model, id_rule: IdRule) -> list[Message]:
    """Return `messages` as `model` can take them.

    Answers that failed are left out with the results of their calls. Every call that stays has exactly one result,
    directly behind its message, in the order of the calls; results of no call are left out. All call ids are distinct.
    Names of calls, which models make up at times, are such as every provider takes in a history.
    """
    images = "image" in model.input
    prepared: list[Message] = []
    turns: list[_Turn] = []
    taken: set[str] = set()
    for message in messages:
        match message:
            case UserMessage():
                if content := _user_content(message.content, images):
                    prepared.append(replace(message, content=content))
            case AssistantMessage():
                turn = _Turn(message, len(prepared))
                turns.append(turn)
                if message.stop_reason not in ("error", "aborted"):
                    answer = _answer(message, model, id_rule, taken)
                    if answer.content:
                        prepared.append(answer)
                        turn.calls = answer.tool_calls
            case ToolResultMessage():
                _give_to_its_turn(message, turns, images)
    for turn in reversed(turns):
        prepared[turn.end : turn.end] = turn.results_in_order()
    return prepared


def lone_surrogates_removed(value: Any) -> Any:
    """Return a JSON value without lone surrogates in its strings, which no server takes."""
    match value:
        case str():
            return _clean(value)
        case dict():
            return {lone_surrogates_removed(key): lone_surrogates_removed(item) for key, item in value.items()}
        case list() | tuple():
            return [lone_surrogates_removed(item) for item in value]
        case _:
            return value


def short_hash(text: str, digits: int = 8) -> str:
    """Return `digits` lower-case hex digits that depend on `text` alone."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def word_id(limit: int) -> IdRule:
    """Return the rule of ids of letters, digits, ``_`` and ``-`` up to `limit` characters."""

    def rule(call_id: str, attempt: int) -> str:
        cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)
        if not attempt:
            return cleaned[:limit] or "call"
        return f"{cleaned[: limit - 9]}_{short_hash(f'{call_id}#{attempt}')}"

    return rule


_wrong_in_name = re.compile(r"[^A-Za-z0-9_-]")
_surrogates = re.compile("[\ud800-\udfff]")


class _Turn:
    """An answer and the results of its calls, by original id in order of the calls."""

    def __init__(self, original: AssistantMessage, position: int) -> None:
        self.original_ids = [call.id for call in original.tool_calls]
        self.timestamp = original.timestamp
        self.end = position + 1
        self.calls: list[ToolCall] = []
        self.results: dict[int, ToolResultMessage] = {}

    def results_in_order(self) -> list[Message]:
        return [
            self.results.get(position)
            or ToolResultMessage(call.id, call.name, [TextContent(NO_RESULT)], True, self.timestamp)
            for position, call in enumerate(self.calls)
        ]


def _give_to_its_turn(result: ToolResultMessage, turns: Sequence[_Turn], images: bool) -> None:
    """Note `result` for the nearest earlier call of its id that has none; a result of no call goes nowhere."""
    for turn in reversed(turns):
        for position, original_id in enumerate(turn.original_ids):
            if original_id == result.tool_call_id and position not in turn.results:
                content = _user_blocks(result.content, images, NO_TOOL_IMAGES)
                if turn.calls:
                    call = turn.calls[position]
                    result = replace(result, tool_call_id=call.id, tool_name=call.name)
                turn.results[position] = replace(result, content=content)
                return


def _answer(message: AssistantMessage, model: Model, id_rule: IdRule, taken: set[str]) -> AssistantMessage:
    same = (message.provider, message.api, message.model) == (model.provider, model.api, model.id)
    content: list[AssistantBlock] = []
    for block in message.content:
        match block:
            case TextContent():
                text, signature = _clean(block.text), block.text_signature if same else None
                if text.strip() or signature:
                    content.append(TextContent(text, signature))
            case ThinkingContent() if same:
                thinking = _clean(block.thinking)
                if thinking.strip() or block.thinking_signature or block.redacted:
                    content.append(replace(block, thinking=thinking))
            case ToolCall():
                content.append(
                    replace(
                        block,
                        id=_distinct(block.id, taken, id_rule, keep=same),
                        name=_wrong_in_name.sub("_", block.name)[:MAX_NAME] or "unnamed",
                        arguments=lone_surrogates_removed(block.arguments),
                        thought_signature=block.thought_signature if same else None,
                    )
                )
            case _:
                pass
    return replace(message, content=content)


def _distinct(call_id: str, taken: set[str], id_rule: IdRule, keep: bool) -> str:
    candidate = call_id if keep and call_id else id_rule(call_id, 0)
    attempt = 0
    while candidate in taken:
        attempt += 1
        candidate = id_rule(call_id, attempt)
    taken.add(candidate)
    return candidate


def _user_content(content: str | Sequence[UserBlock], images: bool) -> str | list[UserBlock]:
    if isinstance(content, str):
        cleaned = _clean(content)
        return cleaned if cleaned.strip() else ""
    return _user_blocks(content, images, NO_IMAGES)


def _user_blocks(blocks: Sequence[UserBlock], images: bool, placeholder: str) -> list[UserBlock]:
    """Return text and images without blank texts; a run of images that the model cannot see is one placeholder."""
    kept: list[UserBlock] = []
    for block in blocks:
        match block:
            case TextContent() if (text := _clean(block.text)).strip():
                kept.append(TextContent(text))
            case ImageContent() if images:
                kept.append(block)
            case ImageContent():
                if not (kept and isinstance(kept[-1], TextContent) and kept[-1].text == placeholder):
                    kept.append(TextContent(placeholder))
            case TextContent() | OpaqueBlock():
                pass
    return kept


def _clean(text: str) -> str:
    return text if text.isascii() else _surrogates.sub("", text)
