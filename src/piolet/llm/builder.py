"""The message under construction, shared by all wire protocols.

A protocol's builder reads one record after the other and calls what is here to open blocks, add to them and close
them; this class keeps the pieces, makes the events, and assembles a message when someone asks for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct, field

from piolet.base.ids import now_ms
from piolet.base.json import dumps
from piolet.llm.arguments import PartialArguments, parse_final
from piolet.llm.cost import priced
from piolet.llm.errors import LlmError, ProviderError, one_line
from piolet.llm.events import (
    AssistantEvent,
    DoneEvent,
    ErrorEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from piolet.llm.messages import (
    NO_COST,
    NO_USAGE,
    AssistantBlock,
    AssistantMessage,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from piolet.llm.model import Model, StreamOptions
from piolet.llm.thinking import requested_level

_surrogate = re.compile("[\ud800-\udfff]")


class OpenText(Struct):
    """A text block; `content` is set when it is closed."""

    index: int
    pieces: list[str] = field(default_factory=list)
    signature: str | None = None
    held: str = ""
    content: TextContent | None = None


class OpenThinking(Struct):
    """A reasoning block."""

    index: int
    pieces: list[str] = field(default_factory=list)
    signature: str | None = None
    redacted: bool = False
    held: str = ""
    content: ThinkingContent | None = None


class OpenCall(Struct):
    """A tool call. `given`: arguments that came whole, as an object; they replace the text.

    `text_field`: what comes is no JSON but the text of that one argument (a tool with a grammar).
    """

    index: int
    id: str
    name: str
    arguments: PartialArguments = field(default_factory=PartialArguments)
    given: dict[str, Any] | None = None
    thought_signature: str | None = None
    namespace: str | None = None
    text_field: str | None = None
    held: str = ""
    content: ToolCall | None = None


OpenBlock: TypeAlias = OpenText | OpenThinking | OpenCall
Block = TypeVar("Block", OpenText, OpenThinking, OpenCall)


class MessageBuilder:
    """Folds the records of one response. Subclasses implement `read` and `check_end`.

    They set `usage` (without cost), `stop_reason` and the other attributes without underscore when they learn them.
    """

    def __init__(self, model: Model, options: StreamOptions) -> None:
        self.model = model
        self.blocks: list[OpenBlock] = []
        self.usage: Usage = NO_USAGE
        self.rates = model.cost
        self.cost_factor = 1.0
        self.provider_total: float | None = None
        self.response_id: str | None = None
        self.response_model: str | None = None
        self.raw_stop_reason: str | None = None
        self.stop_reason: StopReason = "pending"
        self.ended = False  # the protocol's own last record was read: nothing behind it counts
        self.end_turn: bool | None = None
        self.thinking_level: str | None = options.reasoning and requested_level(model, options)
        self.provider_thinking_level: str | None = None
        self._timestamp = now_ms()
        self._began = time.monotonic()
        self._events: list[AssistantEvent] = []

    # ---------------------------------------------------------------------------------------- for the transport

    def fold(self, name: str, record: Any) -> Sequence[AssistantEvent]:
        """Take one parsed record (with the name of its event, "" without one); return the events that it makes.

        Raises `ProviderError` for a record that tells of an error, or that is not what the protocol has.
        """
        try:
            self.read(name, record)
        except LlmError:
            raise
        except Exception as error:  # whatever a server makes up, it must not end the program
            sent = one_line(dumps(record), 300)
            raise ProviderError(f"The server sent an event that does not fit the protocol: {sent}") from error
        return self._take_events()

    def finish(self) -> Sequence[AssistantEvent]:
        """Close what is open at the end of the body; raise `ProviderError` if the protocol's own end is missing."""
        self.check_end()
        return self.close_all()

    def close_all(self) -> Sequence[AssistantEvent]:
        """Close what is open, whatever the reason."""
        for block in self.blocks:
            self.close(block)
        return self._take_events()

    def partial(self) -> AssistantMessage:
        """Return a snapshot of what has arrived."""
        return self._message("pending")

    def done(self) -> DoneEvent:
        """Return the terminal event of a response that ended in order."""
        reason = cast(Literal["stop", "length", "toolUse", "deferred"], self.stop_reason)
        return DoneEvent(reason, self._message(reason, ended=True))

    def failed(self, reason: Literal["error", "aborted"], text: str) -> ErrorEvent:
        """Return the terminal event of a response that failed; what had arrived stays in its message."""
        return ErrorEvent(reason, self._message(reason, text, ended=True))

    # -------------------------------------------------------------------------------------------- for protocols

    def read(self, name: str, record: Any) -> None:
        """Take one record of the provider."""
        raise NotImplementedError

    def check_end(self) -> None:
        """Raise `ProviderError` unless the response is complete and ended well."""
        raise NotImplementedError

    def open_text(self) -> OpenText:
        return self._begin(OpenText(len(self.blocks)), TextStart(len(self.blocks)))

    def open_thinking(self, *, redacted: bool = False) -> OpenThinking:
        return self._begin(OpenThinking(len(self.blocks), redacted=redacted), ThinkingStart(len(self.blocks)))

    def open_call(self, call_id: str, name: str, text_field: str | None = None) -> OpenCall:
        index = len(self.blocks)
        block = OpenCall(index, call_id, name, text_field=text_field)
        return self._begin(block, ToolCallStart(index, call_id or None, name or None))

    def add(self, block: OpenBlock, delta: str) -> None:
        """Append `delta` to a block: to its text, or to the JSON text of a call's arguments."""
        if block.held or _surrogate.search(delta):
            delta = _joined_surrogates(block, delta)
        if isinstance(block, OpenCall) and block.text_field is not None:
            opening = f'{{{dumps(block.text_field)}:"' if block.arguments.empty else ""
            delta = opening + dumps(delta)[1:-1]
        match block:
            case OpenText():
                block.pieces.append(delta)
                self._events.append(TextDelta(block.index, delta))
            case OpenThinking():
                block.pieces.append(delta)
                self._events.append(ThinkingDelta(block.index, delta))
            case OpenCall():
                block.arguments.feed(delta)
                self._events.append(ToolCallDelta(block.index, delta))

    def close(self, block: OpenBlock) -> None:
        """End a block; nothing happens if it has ended."""
        if block.content is not None:
            return
        if block.held:
            held, block.held = block.held, ""
            if isinstance(block, OpenCall):
                block.arguments.feed(held)
            else:
                block.pieces.append(held)
        match block:
            case OpenText():
                block.content = _text(block)
                self._events.append(TextEnd(block.index, block.content.text))
            case OpenThinking():
                block.content = _thinking(block)
                self._events.append(ThinkingEnd(block.index, block.content.thinking))
            case OpenCall():
                if block.text_field is not None:
                    self._end_grammar_text(block)
                problem = None
                arguments = block.given
                if arguments is None:
                    arguments, problem = parse_final(block.arguments.text)
                block.content = _call(block, arguments, problem)
                self._events.append(ToolCallEnd(block.index, block.content))

    # ------------------------------------------------------------------------------------------------ internals

    def _end_grammar_text(self, block: OpenCall) -> None:
        if block.arguments.empty:
            self.add(block, "")
        block.arguments.feed('"}')
        self._events.append(ToolCallDelta(block.index, '"}'))

    def _begin(self, block: Block, event: AssistantEvent) -> Block:
        self.blocks.append(block)
        self._events.append(event)
        return block

    def _take_events(self) -> list[AssistantEvent]:
        events, self._events = self._events, []
        return events

    def _message(self, stop_reason: StopReason, error: str | None = None, ended: bool = False) -> AssistantMessage:
        usage = self.usage
        if usage.cost is NO_COST and usage is not NO_USAGE:
            usage = priced(usage, self.rates, self.cost_factor, self.provider_total)
        return AssistantMessage(
            content=[block.content or _snapshot(block) for block in self.blocks],
            api=self.model.api,
            provider=self.model.provider,
            model=self.model.id,
            usage=usage,
            stop_reason=stop_reason,
            timestamp=self._timestamp,
            response_model=self.response_model,
            response_id=self.response_id,
            thinking_level=self.thinking_level,
            provider_thinking_level=self.provider_thinking_level,
            raw_stop_reason=self.raw_stop_reason,
            error_message=error,
            end_turn=self.end_turn,
            duration_ms=round((time.monotonic() - self._began) * 1000) if ended else None,
        )


def as_text(value: Any) -> str:
    """Return what a server sent in the place of text: a string as it is, nothing as "", a number as its digits."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def as_object(value: Any) -> dict[str, Any]:
    """Return what a server sent in the place of an object; an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def as_count(value: Any) -> int:
    """Return what a server sent in the place of a count; 0 for what is none."""
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else 0


def _snapshot(block: OpenBlock) -> AssistantBlock:
    match block:
        case OpenText():
            return _text(block)
        case OpenThinking():
            return _thinking(block)
        case OpenCall():
            return _call(block, block.arguments.value if block.given is None else block.given, None)


def _text(block: OpenText) -> TextContent:
    return TextContent("".join(block.pieces), block.signature)


def _thinking(block: OpenThinking) -> ThinkingContent:
    return ThinkingContent("".join(block.pieces), block.signature, True if block.redacted else None)


def _call(block: OpenCall, arguments: dict[str, Any], problem: str | None) -> ToolCall:
    return ToolCall(block.id, block.name, arguments, block.thought_signature, block.namespace, problem)


def _joined_surrogates(block: OpenBlock, delta: str) -> str:
    """Join surrogate pairs that a server wrote as two escapes; keep back a first half whose second may still come."""
    delta = block.held + delta
    block.held = delta[-1:] if "\ud800" <= delta[-1:] <= "\udbff" else ""
    delta = delta[: len(delta) - len(block.held)]
    return delta.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
