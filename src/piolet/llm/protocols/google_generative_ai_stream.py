"""The wire protocol of Google's generative AI: the response, chunk by chunk. Source: providers, section 8."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from piolet.base.json import dumps
from piolet.llm.builder import MessageBuilder, OpenCall, OpenText, OpenThinking, as_count, as_object, as_text
from piolet.llm.errors import ProviderError, error_value, one_line
from piolet.llm.messages import NO_COST, StopReason, Usage
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols.google_models import thinking_config
from piolet.llm.thinking import requested_level

_STOPS: Mapping[str, StopReason] = {
    "STOP": "stop",
    "FUNCTION_CALL": "stop",  # not the service itself: servers that imitate it
    "MAX_TOKENS": "length",
}


class GenerativeAiBuilder(MessageBuilder):
    """Folds chunks. Parts of one kind that follow each other are one block, as long as one signature covers them."""

    def __init__(self, model: Model, context: Context, options: StreamOptions) -> None:
        super().__init__(model, options)
        self._current: OpenText | OpenThinking | None = None
        self._reason = ""
        level = requested_level(model, options)
        if level != "off":
            self.provider_thinking_level = thinking_config(model, level, {}).get("thinkingLevel")

    def read(self, name: str, record: Any) -> None:
        chunk = record if isinstance(record, dict) else {}
        if chunk.get("error"):
            raise ProviderError(one_line(error_value(record)))
        self.response_id = self.response_id or as_text(chunk.get("responseId")) or None
        answered_by = as_text(chunk.get("modelVersion"))
        if answered_by and answered_by != self.model.id:
            self.response_model = answered_by
        if usage := as_object(chunk.get("usageMetadata")):
            self._read_usage(usage)
        if blocked := as_object(chunk.get("promptFeedback")).get("blockReason"):
            raise ProviderError(f"The provider blocked the prompt: {blocked}")
        candidate = as_object(next(iter(chunk.get("candidates") or ()), None))
        for part in as_object(candidate.get("content")).get("parts") or ():
            self._read_part(part)
        if reason := candidate.get("finishReason"):
            self.raw_stop_reason = as_text(reason)
            self._reason = as_text(candidate.get("finishMessage"))
            self.stop_reason = _STOPS.get(self.raw_stop_reason, "error")
            if self.stop_reason == "stop" and any(isinstance(block, OpenCall) for block in self.blocks):
                self.stop_reason = "toolUse"

    def check_end(self) -> None:
        if self.stop_reason == "pending":
            raise ProviderError("Stream ended without finishReason")
        if self.stop_reason == "error":
            detail = f": {one_line(self._reason)}" if self._reason else ""
            raise ProviderError(f"Provider finishReason: {self.raw_stop_reason}{detail}")

    def _read_part(self, part: Mapping[str, Any]) -> None:
        signature = as_text(part.get("thoughtSignature")) or None
        if isinstance(call := part.get("functionCall"), dict):
            self._end_current()
            self._read_call(call, signature)
        elif "text" in part and (part["text"] or signature):
            block = self._block(part.get("thought") is True, signature)
            block.signature = signature or block.signature
            if part["text"]:
                self.add(block, as_text(part["text"]))

    def _block(self, thought: bool, signature: str | None) -> OpenText | OpenThinking:
        """Return the block that a part belongs to: the current one, if it is of that kind and not signed otherwise."""
        current = self._current
        fits = current is not None and isinstance(current, OpenThinking) == thought
        if current is not None and fits and (signature is None or current.signature in (None, signature)):
            return current
        self._end_current()
        self._current = self.open_thinking() if thought else self.open_text()
        return self._current

    def _end_current(self) -> None:
        if self._current is not None:
            self.close(self._current)
            self._current = None

    def _read_call(self, told: Mapping[str, Any], signature: str | None) -> None:
        """Take a call, which comes whole. Many servers give it no id; one that came before is no good either."""
        call_id = as_text(told.get("id"))
        if not call_id or any(isinstance(block, OpenCall) and block.id == call_id for block in self.blocks):
            call_id = f"call_{uuid.uuid4().hex[:24]}"
        block = self.open_call(call_id, as_text(told.get("name")))
        block.thought_signature = signature
        arguments = told.get("args")
        block.given = arguments if isinstance(arguments, dict) else {}
        self.add(block, dumps(block.given))
        self.close(block)

    def _read_usage(self, told: Mapping[str, Any]) -> None:
        cached = as_count(told.get("cachedContentTokenCount"))
        fresh = max(0, as_count(told.get("promptTokenCount")) - cached)
        thinking = as_count(told.get("thoughtsTokenCount"))
        output = as_count(told.get("candidatesTokenCount")) + thinking
        total = as_count(told.get("totalTokenCount")) or fresh + cached + output
        self.usage = Usage(fresh, output, cached, 0, total, NO_COST, reasoning=thinking)
