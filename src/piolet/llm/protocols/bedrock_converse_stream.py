"""The wire protocol of Amazon Bedrock: the response, event by event. Source: providers, section 9."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from piolet.base.json import dumps
from piolet.llm.builder import MessageBuilder, OpenBlock, OpenCall, OpenText, OpenThinking, as_count, as_object, as_text
from piolet.llm.errors import ProviderError, one_line
from piolet.llm.messages import NO_COST, StopReason, Usage
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols.anthropic_messages_stream import REDACTED
from piolet.llm.protocols.aws_event_stream import EXCEPTION
from piolet.llm.protocols.bedrock_models import effort
from piolet.llm.thinking import requested_level

_STOPS: Mapping[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
}
_LABELS = {
    "internalserverexception": "Internal server error",
    "modelstreamerrorexception": "Model stream error",
    "validationexception": "Validation error",
    "throttlingexception": "Throttling error",
    "serviceunavailableexception": "Service unavailable",
}


def error_label(exception: str) -> str:
    """Return what an exception of the service is called in error texts; its own name if it is an uncommon one."""
    return _LABELS.get(exception.lower(), exception)


class ConverseBuilder(MessageBuilder):
    """Folds events. Blocks are known by their index; only calls are announced, others begin with their first delta."""

    def __init__(self, model: Model, context: Context, options: StreamOptions) -> None:
        super().__init__(model, options)
        self._open: dict[Any, OpenBlock] = {}
        self.provider_thinking_level = effort(model, requested_level(model, options))

    def read(self, name: str, record: Any) -> None:
        event = record if isinstance(record, dict) else {}
        index = event.get("contentBlockIndex", 0)
        match name:
            case "contentBlockStart":
                call = as_object(event.get("start")).get("toolUse")
                if isinstance(call, dict) and call.get("type") != "server_tool_use":
                    self._open[index] = self.open_call(as_text(call.get("toolUseId")), as_text(call.get("name")))
            case "contentBlockDelta":
                self._read_delta(index, as_object(event.get("delta")))
            case "contentBlockStop":
                if block := self._open.pop(index, None):
                    self.close(block)
            case "messageStop":
                self.raw_stop_reason = as_text(event.get("stopReason"))
                self.stop_reason = _STOPS.get(self.raw_stop_reason, "error")
            case "metadata":
                self._read_usage(as_object(event.get("usage")))
                self.ended = self.raw_stop_reason is not None
            case _ if name == EXCEPTION:
                raise _thrown(event)
            case _:
                pass

    def check_end(self) -> None:
        if self.raw_stop_reason is None:
            raise ProviderError("Stream ended before messageStop")
        if self.stop_reason == "error":
            raise ProviderError(f"Provider stopReason: {self.raw_stop_reason}")
        unfinished = [block for block in self._open.values() if isinstance(block, OpenCall)]
        if self.stop_reason == "toolUse" and unfinished:
            raise ProviderError(f"Stream ended before the call of {unfinished[0].name} was complete")

    def _read_delta(self, index: Any, delta: Mapping[str, Any]) -> None:
        if text := as_text(delta.get("text")):
            block = self._open.get(index)
            if not isinstance(block, OpenText):
                block = self._open[index] = self.open_text()
            self.add(block, text)
        if isinstance(reasoning := delta.get("reasoningContent"), dict):
            self._read_reasoning(index, reasoning)
        if isinstance(call := delta.get("toolUse"), dict) and isinstance(block := self._open.get(index), OpenCall):
            piece = call.get("input")
            if isinstance(piece, dict):
                block.given = piece
                piece = dumps(piece)
            self.add(block, as_text(piece))

    def _read_reasoning(self, index: Any, told: Mapping[str, Any]) -> None:
        block = self._open.get(index)
        if not isinstance(block, OpenThinking):
            block = self._open[index] = self.open_thinking(redacted="redactedContent" in told)
            if block.redacted:
                block.pieces.append(REDACTED)
        if text := as_text(told.get("text")):
            self.add(block, text)
        if signature := as_text(told.get("signature")):
            block.signature = (block.signature or "") + signature
        if redacted := as_text(told.get("redactedContent")):
            block.signature = _joined_base64(block.signature or "", redacted)

    def _read_usage(self, told: Mapping[str, Any]) -> None:
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        fresh, output, read, written = (as_count(told.get(name)) for name in names)
        total = as_count(told.get("totalTokens")) or fresh + output + read + written
        details = [detail for detail in told.get("cacheDetails") or () if detail.get("ttl") == "1h"]
        long_writes = sum(as_count(detail.get("inputTokens")) for detail in details) if details else None
        self.usage = Usage(fresh, output, read, written, total, NO_COST, cache_write_1h=long_writes)


def _thrown(event: Mapping[str, Any]) -> ProviderError:
    label, body = error_label(as_text(event.get("type"))), event.get("body")
    message = body.get("message", body.get("Message")) if isinstance(body, dict) else None
    said = one_line(as_text(message) or dumps(body))
    return ProviderError(f"{label}: {said}" if label else said)


def _joined_base64(one: str, other: str) -> str:
    if not one:
        return other
    try:
        return base64.b64encode(base64.b64decode(one) + base64.b64decode(other)).decode()
    except binascii.Error:
        return one + other
