"""The wire protocol of OpenAI's chat completions: the response, chunk by chunk. Source: providers, section 5."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from piolet.base.json import dumps
from piolet.llm.builder import MessageBuilder, OpenBlock, OpenCall, OpenText, OpenThinking, as_count, as_object, as_text
from piolet.llm.cost import billed_total
from piolet.llm.errors import ProviderError, error_value, one_line
from piolet.llm.messages import NO_COST, StopReason, Usage
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols.openai_compat import compat_of
from piolet.llm.schemas import grammar_field
from piolet.llm.thinking import provider_level, requested_level

_STOPS: Mapping[str, StopReason] = {
    "stop": "stop",
    "end": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")


class CompletionsBuilder(MessageBuilder):
    """Folds chunks. All text goes to one block and all reasoning to another; blocks end with the body."""

    def __init__(self, model: Model, context: Context, options: StreamOptions) -> None:
        super().__init__(model, options)
        self._needs_finish_reason = compat_of(model).supports_finish_reason
        self._text: OpenText | None = None
        self._thinking: OpenThinking | None = None
        self._details: list[dict[str, Any]] = []
        self._calls: list[_Call] = []
        self._text_fields = {tool.name: grammar_field(tool) for tool in context.tools}
        level = requested_level(model, options)
        if level != "off":
            self.provider_thinking_level = provider_level(model, level)

    def read(self, name: str, record: Any) -> None:
        chunk = as_object(record)
        choices = chunk.get("choices")
        choice = as_object(choices[0] if isinstance(choices, list) and choices else None)
        self.response_id = self.response_id or as_text(chunk.get("id")) or None
        answered_by = as_text(chunk.get("model"))
        if answered_by and answered_by != self.model.id:
            self.response_model = self.response_model or answered_by
        if usage := as_object(chunk.get("usage") or choice.get("usage")):
            self._read_usage(usage)
        if name == "error" or chunk.get("error") or choice.get("error"):
            raise ProviderError(one_line(error_value(choice if choice.get("error") else record)))
        self._read_delta(as_object(choice.get("delta") or choice.get("message")))
        if choice.get("finish_reason"):
            self._read_finish(as_text(choice["finish_reason"]))

    def close(self, block: OpenBlock) -> None:
        if block is self._thinking and self._thinking is not None and self._details:
            self._thinking.signature = dumps(self._details)
        super().close(block)

    def check_end(self) -> None:
        if self.stop_reason == "pending":
            if self._needs_finish_reason:
                raise ProviderError("Stream ended without finish_reason")
            self.stop_reason = "toolUse" if self._calls else "stop"
        if self.stop_reason == "error":
            raise ProviderError(f"Provider finish_reason: {self.raw_stop_reason}")

    def _read_finish(self, reason: str) -> None:
        self.raw_stop_reason = reason
        self.stop_reason = _STOPS.get(reason, "error")

    def _read_usage(self, told: Mapping[str, Any]) -> None:
        sent = as_object(told.get("prompt_tokens_details"))
        cached = _first_count(sent.get("cached_tokens"), told.get("prompt_cache_hit_tokens"), told.get("cached_tokens"))
        written = as_count(sent.get("cache_write_tokens"))
        fresh = max(0, as_count(told.get("prompt_tokens")) - cached - written)
        output = as_count(told.get("completion_tokens"))
        answered = as_object(told.get("completion_tokens_details"))
        reasoning = _first_count(answered.get("reasoning_tokens"), told.get("reasoning_tokens"))
        total = fresh + output + cached + written
        self.usage = Usage(fresh, output, cached, written, total, NO_COST, reasoning=reasoning)
        self.provider_total = billed_total(self.model, told)

    # --------------------------------------------------------------------------------------------------- deltas

    def _read_delta(self, delta: Mapping[str, Any]) -> None:
        field = next((name for name in _REASONING_FIELDS if _text_of(delta.get(name))), None)
        details = [entry for entry in delta.get("reasoning_details") or () if isinstance(entry, dict)]
        if field or details:
            if self._thinking is None:
                self._thinking = self.open_thinking()
            if field:
                self._thinking.signature = self._thinking.signature or field
                self.add(self._thinking, _text_of(delta[field]))
            for entry in details:
                _collect(self._details, entry)
        for text in (delta.get("content"), delta.get("refusal")):
            if text := _text_of(text):
                if self._text is None:
                    self._text = self.open_text()
                self.add(self._text, text)
        for call in delta.get("tool_calls") or ():
            if isinstance(call, dict):
                self._read_call(call)

    def _read_call(self, told: Mapping[str, Any]) -> None:
        function = as_object(told.get("function") or told.get("custom"))
        index, call_id, name = told.get("index"), as_text(told.get("id")), as_text(function.get("name"))
        arguments = function.get("arguments", function.get("input"))
        call = self._matching(index, call_id, name)
        if call is None:
            text_field = self._text_fields.get(name) if "custom" in told else None
            block = self.open_call(call_id or self._new_id(), name, text_field)
            call = _Call(block, index, bool(call_id))
            self._calls.append(call)
        elif call_id and not call.has_id:
            call.block.id, call.has_id = call_id, True
        if name and not call.block.name:
            call.block.name = name
        if isinstance(arguments, dict):
            call.block.given = arguments
            arguments = dumps(arguments)
        if isinstance(arguments, str):
            self.add(call.block, arguments)

    def _new_id(self) -> str:
        return f"call_{uuid.uuid4().hex[:24]}"

    def _matching(self, index: Any, call_id: str, name: str) -> _Call | None:
        """Return the call that a delta continues: that of its index, else of its id, else the last.

        A new id together with a name begins another call, whatever the index says: some servers label each call 0.
        """
        if index is not None:
            for call in reversed(self._calls):
                if call.index == index:
                    another = call_id and name and call.has_id and call.block.id != call_id
                    return None if another else call
            return None
        if call_id:
            return next((call for call in self._calls if call.block.id == call_id), None)
        return self._calls[-1] if self._calls and not name else None


class _Call:
    """A call under construction, and what its deltas are matched by."""

    def __init__(self, block: OpenCall, index: Any, has_id: bool) -> None:
        self.block = block
        self.index = index
        self.has_id = has_id


def _text_of(value: Any) -> str:
    """Return text; a list of content parts (some gateways send one) as their joined text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "".join(part.get("text") or "" for part in value if isinstance(part, dict))
    return ""


def _first_count(*values: Any) -> int:
    return next((as_count(value) for value in values if value is not None), 0)


def _collect(details: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    """Add a structured reasoning entry; one that continues the last (same type and index) is merged into it."""
    last = details[-1] if details else None
    same = last is not None and all(last.get(key) == entry.get(key) for key in ("type", "index"))
    if last is None or not same or entry.get("type") not in ("reasoning.text", "reasoning.summary"):
        details.append(dict(entry))
        return
    for key, value in entry.items():
        if key in ("text", "summary") and isinstance(value, str):
            last[key] = (last.get(key) or "") + value
        elif value is not None:
            last[key] = value
