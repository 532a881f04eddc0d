"""The hooks of loop, context, provider and tools, with their events and results.

Names and meaning: the extension specification, section 3. Events are the handler's to read; a field that is said to be
mutable is its own copy, taken over when the handler returns.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from piolet.agent.tools import ToolResult
from piolet.harness.drafts import CustomMessageDraft, EntryDraft
from piolet.harness.hooks import Hook
from piolet.harness.prompt.records import PromptInputs, editable
from piolet.harness.prompt.system_prompt import system_prompt
from piolet.llm.messages import (
    AssistantMessage,
    BaseMessage,
    ImageContent,
    ToolResultMessage,
    Usage,
    UserBlock,
    text_of,
)

Outcome: TypeAlias = Literal["completed", "aborted", "error"]

# ---- before_agent_start


class BeforeAgentStart(Struct, frozen=True):
    """The user's entry is in the tree, the first request not yet sent.

    `message` starts the run. The lists of `system_prompt_options` are the handler's own: what it leaves in them is
    used for this run. The rest is what handlers have asked for so far.
    """

    message: BaseMessage
    system_prompt_options: PromptInputs
    replaced_prompt: str | None = None
    appended: Sequence[str] = ()
    messages: Sequence[CustomMessageDraft] = ()

    @property
    def message_type(self) -> Literal["user", "custom"]:
        return "custom" if self.message.role == "custom" else "user"

    @property
    def prompt(self) -> str:
        """The text that starts the run."""
        return text_of(getattr(self.message, "content", ""))

    @property
    def images(self) -> Sequence[ImageContent]:
        content = getattr(self.message, "content", "")
        return [] if isinstance(content, str) else [block for block in content if isinstance(block, ImageContent)]

    @property
    def system_prompt(self) -> str:
        """The prompt as it stands now, with what earlier handlers changed."""
        return system_prompt(self.system_prompt_options) if self.replaced_prompt is None else self.replaced_prompt


class StartResult(Struct, frozen=True):
    """`system_prompt` replaces the prompt for this run; `append_system_prompt` is added to its second part."""

    message: CustomMessageDraft | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None


def _fold_start(event: BeforeAgentStart, result: StartResult) -> BeforeAgentStart:
    if result.message is not None:
        event = replace(event, messages=(*event.messages, result.message))
    if result.system_prompt is not None:
        event = replace(event, replaced_prompt=result.system_prompt)
    if result.append_system_prompt:
        text = result.append_system_prompt
        options = event.system_prompt_options
        event = replace(
            event,
            system_prompt_options=replace(options, append=[*options.append, text]),
            replaced_prompt=None if event.replaced_prompt is None else f"{event.replaced_prompt}\n\n{text}",
            appended=(*event.appended, text),
        )
    return event


BEFORE_AGENT_START: Hook[BeforeAgentStart, StartResult] = Hook(
    "before_agent_start",
    fold=_fold_start,
    copy=lambda event: replace(event, system_prompt_options=editable(event.system_prompt_options)),
)

# ---- context


class ContextEvent(Struct):
    """Before each request. `messages` is a deep copy: edit it in place, or return another list."""

    messages: list[BaseMessage]


class ContextResult(Struct, frozen=True):
    messages: Sequence[BaseMessage]


CONTEXT: Hook[ContextEvent, ContextResult] = Hook(
    "context",
    copy=copy.deepcopy,
    fold=lambda event, result: ContextEvent(list(result.messages)),
)

# ---- message_end


class MessageEndEvent(Struct, frozen=True):
    """A message is final, before it is stored."""

    message: BaseMessage


class MessageResult(Struct, frozen=True):
    """Replaces the message; the role must stay."""

    message: BaseMessage


def _fold_message(event: MessageEndEvent, result: MessageResult) -> MessageEndEvent:
    if result.message.role != event.message.role:
        raise ValueError(f"message_end cannot turn a {event.message.role} message into a {result.message.role} message")
    return MessageEndEvent(result.message)


MESSAGE_END: Hook[MessageEndEvent, MessageResult] = Hook("message_end", fold=_fold_message)

# ---- tools


class ToolCallEvent(Struct, frozen=True):
    """A call about to run. `input` is mutable; what it holds afterwards is validated again and used.

    `parent_tool_call_id`: the call during which a tool made this one; None for a call of the model.
    """

    tool_call_id: str
    tool_name: str
    input: dict[str, Any]
    parent_tool_call_id: str | None = None
    block: ToolCallResult | None = None


class ToolCallResult(Struct, frozen=True):
    """`block` refuses the call, and `reason` is what the model is told; `terminate` ends the run after the batch."""

    block: bool = False
    reason: str | None = None
    terminate: bool = False


TOOL_CALL: Hook[ToolCallEvent, ToolCallResult] = Hook(
    "tool_call",
    copy=lambda event: replace(event, input=copy.deepcopy(event.input)),
    fold=lambda event, result: replace(event, block=result) if result.block else event,
    done=lambda event: event.block is not None,
    failed=lambda event, error: replace(
        event, block=ToolCallResult(True, f"Tool call blocked: a guard failed ({error or type(error).__name__})")
    ),
)


class ToolResultEvent(Struct, frozen=True):
    """A call has ended."""

    tool_call_id: str
    tool_name: str
    input: Mapping[str, Any]
    content: Sequence[UserBlock]
    details: Any
    is_error: bool
    structured_content: Any = None
    usage: Usage | None = None
    parent_tool_call_id: str | None = None
    changed: bool = False


class ToolResultPatch(Struct, frozen=True):
    """None leaves a field as it is. New `content` without `structured_content` drops the old one."""

    content: Sequence[UserBlock] | None = None
    details: Any = None
    is_error: bool | None = None
    structured_content: Any = None
    usage: Usage | None = None


def _fold_tool_result(event: ToolResultEvent, patch: ToolResultPatch) -> ToolResultEvent:
    structured = patch.structured_content
    if structured is None and patch.content is None:
        structured = event.structured_content
    return replace(
        event,
        content=event.content if patch.content is None else patch.content,
        details=event.details if patch.details is None else patch.details,
        is_error=event.is_error if patch.is_error is None else patch.is_error,
        structured_content=structured,
        usage=event.usage if patch.usage is None else patch.usage,
        changed=True,
    )


TOOL_RESULT: Hook[ToolResultEvent, ToolResultPatch] = Hook("tool_result", fold=_fold_tool_result)

# ---- provider


class BeforeProviderRequest(Struct, frozen=True):
    """The body is built. `payload` is the handler's own: edit it in place, or return another."""

    payload: dict[str, Any]


BEFORE_PROVIDER_REQUEST: Hook[BeforeProviderRequest, dict[str, Any]] = Hook(
    "before_provider_request",
    copy=copy.deepcopy,
    fold=lambda event, payload: BeforeProviderRequest(payload),
)


class BeforeProviderHeaders(Struct, frozen=True):
    """The headers are built. `headers` is mutable; None removes one."""

    headers: dict[str, str | None]


BEFORE_PROVIDER_HEADERS: Hook[BeforeProviderHeaders, None] = Hook(
    "before_provider_headers", copy=lambda event: BeforeProviderHeaders(dict(event.headers))
)


class AfterProviderResponse(Struct, frozen=True):
    """The headers of a response are here, its body not yet."""

    status: int
    headers: Mapping[str, str]


AFTER_PROVIDER_RESPONSE: Hook[AfterProviderResponse, None] = Hook("after_provider_response")


class ProviderStreamEvent(Struct, frozen=True):
    """One parsed record of the provider's stream; to read only."""

    provider: str
    api: str
    model: str
    data: Any


PROVIDER_STREAM_EVENT: Hook[ProviderStreamEvent, None] = Hook("provider_stream_event")

# ---- boundaries


class Boundary(Struct, frozen=True):
    """Asks for more at a boundary: entries to append, and with `continue_` one more request."""

    entries: Sequence[EntryDraft] = ()
    continue_: bool = False


class TurnEndEvent(Struct, frozen=True):
    """A turn is over and stored. `context`: the messages that the next request would begin with; `entries` and
    `continue_`: what handlers have asked for so far."""

    turn_index: int
    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage]
    message_entry_id: str | None = None
    tool_result_entry_ids: Sequence[str] = ()
    context: Sequence[BaseMessage] = ()
    entries: Sequence[EntryDraft] = field(default=())
    continue_: bool = False
    outcome: Outcome = "completed"


class BeforeSettleEvent(Struct, frozen=True):
    """The run is about to settle. The fields are those of `TurnEndEvent`."""

    outcome: Outcome
    context: Sequence[BaseMessage] = ()
    entries: Sequence[EntryDraft] = field(default=())
    continue_: bool = False


TURN_END: Hook[TurnEndEvent, Boundary] = Hook(
    "turn_end",
    fold=lambda event, more: replace(
        event, entries=(*event.entries, *more.entries), continue_=event.continue_ or more.continue_
    ),
)
AGENT_BEFORE_SETTLE: Hook[BeforeSettleEvent, Boundary] = Hook(
    "agent_before_settle",
    fold=lambda event, more: replace(
        event, entries=(*event.entries, *more.entries), continue_=event.continue_ or more.continue_
    ),
)

#: Hooks whose name is also that of an event: their handlers are asked at the hook, and not told again.
ASKED_AT_HOOK = frozenset({MESSAGE_END.name, TURN_END.name})


def patched(result: ToolResult, event: ToolResultEvent) -> ToolResult:
    """Return `result` with the fields that handlers changed in `event`."""
    return ToolResult(
        content=event.content,
        details=event.details,
        is_error=event.is_error,
        terminate=result.terminate,
        structured_content=event.structured_content,
        usage=event.usage,
    )
