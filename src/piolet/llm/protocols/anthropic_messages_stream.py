"""The wire protocol of Anthropic's messages: the response, event by event. Source: providers, section 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piolet.base.json import dumps
from piolet.llm.builder import MessageBuilder, OpenBlock, OpenCall, OpenThinking, as_count, as_object, as_text
from piolet.llm.errors import ProviderError, error_value, one_line
from piolet.llm.messages import NO_COST, StopReason, Usage
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols.anthropic_compat import compat_of, effort
from piolet.llm.thinking import requested_level

REDACTED = "[Reasoning redacted]"
_STOPS: Mapping[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}


class MessagesBuilder(MessageBuilder):
    """Folds events. Blocks are known by their index and may interleave; kinds that are not ours are skipped."""

    def __init__(self, model: Model, context: Context, options: StreamOptions) -> None:
        super().__init__(model, options)
        self._open: dict[int, OpenBlock] = {}
        self._counters: dict[str, Any] = {}
        self._refusal = ""
        self._fallbacks = compat_of(model).allowed_fallback_models
        level = requested_level(model, options)
        if level != "off" and compat_of(model).force_adaptive_thinking:
            self.provider_thinking_level = effort(model, level)

    def read(self, name: str, record: Any) -> None:
        if not isinstance(record, dict):
            return
        match record.get("type"):
            case "message_start":
                self._read_message(as_object(record.get("message")))
            case "content_block_start":
                self._read_start(record.get("index", 0), as_object(record.get("content_block")))
            case "content_block_delta":
                if block := self._open.get(record.get("index", 0)):
                    self._read_delta(block, as_object(record.get("delta")))
            case "content_block_stop":
                if block := self._open.pop(record.get("index", 0), None):
                    self.close(block)
            case "message_delta":
                self._read_end(as_object(record.get("delta")))
                self._read_usage(as_object(record.get("usage")))
            case "message_stop":
                self.ended = True
            case "error":
                raise ProviderError(one_line(error_value(record)))
            case _ if name == "error" or "error" in record:
                raise ProviderError(one_line(error_value(record)))

    def check_end(self) -> None:
        if not self.ended:
            raise ProviderError("Stream ended before message_stop")
        if self.raw_stop_reason is None:
            raise ProviderError("Stream ended without a stop reason")
        if self.stop_reason == "error":
            raise ProviderError(self._refusal or f"Provider stopped with: {self.raw_stop_reason}")
        unfinished = [block for block in self._open.values() if isinstance(block, OpenCall)]
        if self.stop_reason == "toolUse" and unfinished:
            raise ProviderError(f"Stream ended before the call of {unfinished[0].name} was complete")

    # --------------------------------------------------------------------------------------------------- blocks

    def _read_message(self, message: Mapping[str, Any]) -> None:
        self.response_id = as_text(message.get("id")) or None
        answered_by = as_text(message.get("model"))
        self.response_model = answered_by if answered_by and answered_by != self.model.id else None
        for fallback in self._fallbacks:
            if (fallback.provider, fallback.model) == (self.model.provider, answered_by):
                self.rates = fallback.cost
        self._read_usage(as_object(message.get("usage")))

    def _read_start(self, index: int, told: Mapping[str, Any]) -> None:
        block: OpenBlock
        match told.get("type"):
            case "text":
                block = self.open_text()
                text = as_text(told.get("text"))
            case "thinking":
                block = self.open_thinking()
                block.signature = as_text(told.get("signature")) or None
                text = as_text(told.get("thinking"))
            case "redacted_thinking":
                block = self.open_thinking(redacted=True)
                block.pieces.append(REDACTED)
                block.signature = as_text(told.get("data"))
                text = ""
            case "tool_use":
                block = self.open_call(as_text(told.get("id")), as_text(told.get("name")))
                text = ""
                if isinstance(given := told.get("input"), dict) and given:
                    block.given = given
            case _:
                return
        self._open[index] = block
        if text:
            self.add(block, text)

    def _read_delta(self, block: OpenBlock, delta: Mapping[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self.add(block, as_text(delta.get("text")))
            case "thinking_delta":
                self.add(block, as_text(delta.get("thinking")))
            case "signature_delta" if isinstance(block, OpenThinking):
                block.signature = (block.signature or "") + as_text(delta.get("signature"))
            case "input_json_delta" if isinstance(block, OpenCall):
                piece = delta.get("partial_json")
                if isinstance(piece, dict):
                    block.given = piece
                    piece = dumps(piece)
                elif piece:
                    block.given = None
                self.add(block, as_text(piece))

    # ------------------------------------------------------------------------------------------- end, counters

    def _read_end(self, delta: Mapping[str, Any]) -> None:
        reason = delta.get("stop_reason")
        if not reason:
            return
        self.raw_stop_reason = as_text(reason)
        self.stop_reason = _STOPS.get(self.raw_stop_reason, "error")
        details = as_object(delta.get("stop_details"))
        self._refusal = as_text(details.get("explanation"))

    def _read_usage(self, told: Mapping[str, Any]) -> None:
        """Take over the counters that are told; those of an earlier record stay where a later one says nothing."""
        self._counters |= {name: value for name, value in told.items() if value is not None}
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        fresh, output, read, written = (as_count(self._counters.get(name)) for name in names)
        long_writes = as_object(self._counters.get("cache_creation")).get("ephemeral_1h_input_tokens")
        thinking = as_object(self._counters.get("output_tokens_details")).get("thinking_tokens")
        self.usage = Usage(
            fresh,
            output,
            read,
            written,
            fresh + output + read + written,
            NO_COST,
            cache_write_1h=None if long_writes is None else as_count(long_writes),
            reasoning=None if thinking is None else as_count(thinking),
        )
