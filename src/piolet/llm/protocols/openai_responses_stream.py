"""The wire protocol of OpenAI's responses: the response, event by event. Source: providers, section 6."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from piolet.base.json import dumps, loads
from piolet.llm.arguments import PartialArguments
from piolet.llm.builder import MessageBuilder, OpenBlock, OpenCall, OpenText, OpenThinking, as_count, as_object, as_text
from piolet.llm.cost import billed_total
from piolet.llm.errors import ProviderError, error_value, one_line
from piolet.llm.messages import NO_COST, Usage
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.schemas import grammar_field
from piolet.llm.thinking import provider_level, requested_level

_TERMINAL = {f"response.{status}" for status in ("completed", "incomplete", "failed", "cancelled", "done")}
_TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_CALL_DELTAS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")


class _Item(Struct):
    """An output item. `block` is None for a kind that makes none. `summarised`: its summary is what is shown."""

    id: str
    index: Any
    block: OpenBlock | None
    done: bool = False
    summarised: bool = False


class ResponsesBuilder(MessageBuilder):
    """Folds events. Each item is a block, known by its index or id; a finished item is right about its content."""

    def __init__(self, model: Model, context: Context, options: StreamOptions) -> None:
        super().__init__(model, options)
        self._items: list[_Item] = []
        self._text_fields = {tool.name: grammar_field(tool) for tool in context.tools}
        self._failure = ""
        level = requested_level(model, options)
        if level != "off":
            self.provider_thinking_level = provider_level(model, level)

    def read(self, name: str, record: Any) -> None:
        event = record if isinstance(record, dict) else {}
        kind = as_text(event.get("type")) or name
        if kind in _TERMINAL:
            self._read_response(as_object(event.get("response")))
            self._read_end(kind.removeprefix("response."), as_object(event.get("response")))
        elif kind in ("error", "response.error") or event.get("error"):
            raise ProviderError(one_line(error_value(record)))
        elif kind.startswith("response."):
            self._read_progress(kind, event)

    def check_end(self) -> None:
        if not self.ended:
            raise ProviderError("Stream ended before a terminal response event")
        if self.stop_reason == "error":
            raise ProviderError(self._failure)
        unfinished = [item.block for item in self._items if isinstance(item.block, OpenCall) and not item.done]
        if self.stop_reason == "toolUse" and unfinished:
            raise ProviderError(f"Stream ended before the call of {unfinished[0].name} was complete")

    def _read_progress(self, kind: str, event: Mapping[str, Any]) -> None:
        match kind:
            case "response.output_item.added":
                self._open(event.get("output_index"), event["item"])
            case "response.output_item.done":
                self._finish(self._item_of(event, event["item"]), event["item"])
            case _ if isinstance(event.get("response"), dict):
                self._read_response(event["response"])
            case _:
                item = self._known(event)
                if item is not None and not item.done:
                    self._read_delta(kind, item, event)

    # ------------------------------------------------------------------------------------------------------- items

    def _known(self, event: Mapping[str, Any]) -> _Item | None:
        """Return the item that an event is about: that of its index, else of its id, else the last."""
        index, item_id = event.get("output_index"), event.get("item_id")
        for item in self._items:
            if item.index == index if index is not None else item.id == item_id:
                return item
        return self._items[-1] if self._items and index is None and item_id is None else None

    def _item_of(self, event: Mapping[str, Any], told: Mapping[str, Any]) -> _Item:
        known = self._known({"output_index": event.get("output_index"), "item_id": told.get("id")})
        return known or self._open(event.get("output_index"), told)

    def _open(self, index: Any, told: Mapping[str, Any]) -> _Item:
        block: OpenBlock | None = None
        match told.get("type"):
            case "reasoning":
                block = self.open_thinking()
            case "message":
                block = self.open_text()
            case "function_call":
                block = self.open_call(_call_id(told), as_text(told.get("name")))
            case "custom_tool_call":
                name = as_text(told.get("name"))
                block = self.open_call(_call_id(told), name, self._text_fields.get(name) or "input")
            case _:
                pass
        if isinstance(block, OpenCall):
            block.namespace = as_text(told.get("namespace")) or None
        self._items.append(_Item(as_text(told.get("id")), index, block))
        return self._items[-1]

    def _read_delta(self, kind: str, item: _Item, event: Mapping[str, Any]) -> None:
        delta = as_text(event.get("delta"))
        match item.block:
            case OpenText() as block if kind in _TEXT_DELTAS:
                self.add(block, delta)
            case OpenCall() as block if kind in _CALL_DELTAS:
                self.add(block, delta)
            case OpenThinking() as block if kind == "response.reasoning_summary_part.added":
                if block.pieces:
                    self.add(block, "\n\n")
            case OpenThinking() as block if kind == "response.reasoning_summary_text.delta":
                item.summarised = True
                self.add(block, delta)
            case OpenThinking() as block if kind == "response.reasoning_text.delta" and not item.summarised:
                self.add(block, delta)
            case _:
                pass

    def _finish(self, item: _Item, told: Mapping[str, Any]) -> None:
        """Close a block with the content of its finished item."""
        if item.done:
            return
        item.done = True
        match item.block:
            case OpenThinking() as block:
                text = _joined(told.get("summary")) or _joined(told.get("content"))
                block.signature = dumps(told)
            case OpenText() as block:
                text = "".join(_texts(told.get("content")))
                block.signature = _text_signature(told)
            case OpenCall() as block:
                self._finish_call(block, told)
                return
            case _:
                return
        if text:
            block.pieces, block.held = [text], ""
        self.close(block)

    def _finish_call(self, block: OpenCall, told: Mapping[str, Any]) -> None:
        block.name = as_text(told.get("name")) or block.name
        block.namespace = as_text(told.get("namespace")) or block.namespace
        arguments = told.get("arguments")
        if block.text_field is not None and isinstance(told.get("input"), str):
            block.given = {block.text_field: told["input"]}
        elif isinstance(arguments, dict):
            block.given = arguments
        elif isinstance(arguments, str) and arguments:
            block.arguments, block.held = PartialArguments(), ""
            block.arguments.feed(arguments)
        self.close(block)

    # ---------------------------------------------------------------------------------------------- end, counters

    def _read_response(self, response: Mapping[str, Any]) -> None:
        self.response_id = as_text(response.get("id")) or self.response_id
        answered_by = as_text(response.get("model"))
        if answered_by:
            self.response_model = answered_by if answered_by != self.model.id else None
        if usage := as_object(response.get("usage")):
            self._read_usage(usage)
        self.cost_factor = _tier_factor(self.model, as_text(response.get("service_tier")))

    def _read_usage(self, told: Mapping[str, Any]) -> None:
        sent, answered = as_object(told.get("input_tokens_details")), as_object(told.get("output_tokens_details"))
        cached, written = as_count(sent.get("cached_tokens")), as_count(sent.get("cache_write_tokens"))
        fresh = max(0, as_count(told.get("input_tokens")) - cached - written)
        output = as_count(told.get("output_tokens"))
        total = as_count(told.get("total_tokens")) or fresh + output + cached + written
        reasoning = as_count(answered.get("reasoning_tokens"))
        self.usage = Usage(fresh, output, cached, written, total, NO_COST, reasoning=reasoning)
        self.provider_total = billed_total(self.model, told)

    def _read_end(self, ending: str, response: Mapping[str, Any]) -> None:
        self.ended = True
        self._complete_items(response.get("output") or ())
        status = as_text(response.get("status")) or ending
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        self.raw_stop_reason = f"{status}.{reason}" if reason else status
        match status, reason:
            case (("completed" | "done"), _):
                calls = any(isinstance(item.block, OpenCall) for item in self._items)
                self.stop_reason = "toolUse" if calls else "stop"
            case "incomplete", "max_output_tokens":
                self.stop_reason = "length"
            case _:
                self.stop_reason = "error"
                self._failure = f"Provider response {self.raw_stop_reason}"
                if error := response.get("error"):
                    self._failure += f": {one_line(error_value({'error': error}))}"

    def _complete_items(self, output: Sequence[Any]) -> None:
        """Take from the whole response what its events left out: items, or the encrypted form of reasoning."""
        if not self._items:
            for index, told in enumerate(output):
                self._finish(self._open(index, told), told)
            return
        for told in output:
            item = next((item for item in self._items if item.id and item.id == told.get("id")), None)
            if item is None:
                continue
            if isinstance(item.block, OpenThinking) and item.block.content is not None:
                _add_encrypted(item.block, told)
            elif not item.done and told.get("status", "completed") == "completed":
                self._finish(item, told)


def _add_encrypted(block: OpenThinking, told: Mapping[str, Any]) -> None:
    """Some servers tell the encrypted form of reasoning only in the terminal event."""
    assert block.content is not None
    stored = loads(block.signature or "{}")
    if told.get("encrypted_content") and not stored.get("encrypted_content"):
        block.signature = dumps({**stored, "encrypted_content": told["encrypted_content"]})
        block.content = replace(block.content, thinking_signature=block.signature)


def _call_id(told: Mapping[str, Any]) -> str:
    call_id = as_text(told.get("call_id")) or f"call_{uuid.uuid4().hex[:24]}"
    item_id = as_text(told.get("id"))
    return f"{call_id}|{item_id}" if item_id else call_id


def _texts(parts: Any) -> list[str]:
    return [as_text(part.get("text", part.get("refusal"))) for part in parts or ()]


def _joined(parts: Any) -> str:
    return "\n\n".join(text for text in _texts(parts) if text)


def _text_signature(told: Mapping[str, Any]) -> str | None:
    """Return what an answer's text goes back with: the id of its item and the phase it belongs to, if there is one."""
    if not told.get("id"):
        return None
    phase = {"phase": told["phase"]} if told.get("phase") else {}
    return dumps({"v": 1, "id": told["id"], **phase})


def _tier_factor(model: Model, tier: str) -> float:
    match tier:
        case "flex":
            return 0.5
        case "priority" | "fast":
            return 2.5 if model.id.startswith("gpt-5.5") else 2.0
        case _:
            return 1.0
