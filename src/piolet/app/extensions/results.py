"""What handlers of extensions return, taken in: the record of their event, or a mapping with the same keys.

Keys of mappings may be in snake case or camel case. What does not fit raises TypeError, as if the handler had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from piolet.app.extensions.fitting import check_fit
from piolet.app.hook_points import Cancel, ForkDecision, InputResult, ResourcePaths, UserBashResult
from piolet.app.trust import TrustDecision
from piolet.base.ids import now_ms
from piolet.base.regex import compiled_later
from piolet.harness.compaction.hook_points import (
    BranchSummaryProposal,
    CompactDecision,
    CompactionProposal,
    TreeDecision,
)
from piolet.harness.drafts import (
    CompactionDraft,
    ContextEditDraft,
    CustomDraft,
    CustomMessageDraft,
)
from piolet.harness.hook_points import (
    Boundary,
    ContextResult,
    MessageResult,
    StartResult,
    ToolCallResult,
    ToolResultPatch,
)
from piolet.harness.normalize import normalize_message
from piolet.harness.prompt.records import PromptInputs
from piolet.llm.messages import BaseMessage, ImageContent, TextContent, Usage
from piolet.llm.normalize import normalize_content

#: What the handlers of an event may answer; events that are not here take no answer.
RESULTS: Mapping[str, type[Struct]] = {
    "project_trust": TrustDecision,
    "resources_discover": ResourcePaths,
    "session_before_switch": Cancel,
    "session_before_fork": ForkDecision,
    "session_before_compact": CompactDecision,
    "session_before_tree": TreeDecision,
    "input": InputResult,
    "before_agent_start": StartResult,
    "agent_before_settle": Boundary,
    "turn_end": Boundary,
    "message_end": MessageResult,
    "tool_call": ToolCallResult,
    "tool_result": ToolResultPatch,
    "context": ContextResult,
    "user_bash": UserBashResult,
}

#: What handlers may change in their event, and what it must still be.
_CHANGED: Mapping[str, tuple[str, Any]] = {
    "before_agent_start": ("system_prompt_options", PromptInputs),
    "before_provider_request": ("payload", dict[str, Any]),
    "before_provider_headers": ("headers", dict[str, str | None]),
}
#: Events that take a plain mapping.
_MAPPINGS = frozenset({"before_provider_request"})
_DRAFTS: Mapping[str, type[Struct]] = {
    "custom": CustomDraft,
    "custom_message": CustomMessageDraft,
    "context_edit": ContextEditDraft,
    "compaction": CompactionDraft,
}
_CAMEL = compiled_later(r"(?<=[a-z0-9])([A-Z])")


def as_result(event: str, value: object) -> object:
    """Return what a handler of `event` gave, as the record that its hook takes; None if there is nothing to take."""
    kind = RESULTS.get(event)
    if value is None or (kind is None and event not in _MAPPINGS):
        return None
    if kind is None:
        if not isinstance(value, dict):
            raise TypeError(f"a handler of {event} returns a dict, not {type(value).__name__}")
        check_fit(value, dict[str, Any], f"the answer to {event}")
        return value
    if isinstance(value, Mapping):
        result = record(kind, value)
    elif isinstance(value, kind):
        result = value
    else:
        raise TypeError(f"a handler of {event} returns {kind.__name__} or a mapping, not {type(value).__name__}")
    check_fit(result, kind, kind.__name__)
    return result


def check_changes(event: str, own: object) -> None:
    """Raise TypeError if a handler of `event` has made of its own event what cannot be used."""
    if event in _CHANGED:
        field, kind = _CHANGED[event]
        check_fit(getattr(own, field), kind, f"{type(own).__name__}.{field}")


def record(kind: type[Struct], value: Mapping[str, Any]) -> Struct:
    """Return a mapping as a record of `kind`."""
    fields = {snake_case(key): item for key, item in value.items()}
    if unknown := fields.keys() - set(kind.__struct_fields__):
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    return kind(**{name: _CONVERT.get(name, _as_it_is)(item) for name, item in fields.items()})


def as_blocks(content: str | Sequence[Any]) -> str | Sequence[Any]:
    """Return content with its mappings as blocks. TypeError for what is neither."""
    if isinstance(content, str):
        return content
    blocks = [block if not isinstance(block, Mapping) else _block(block) for block in content]
    for block in blocks:
        if not isinstance(block, TextContent | ImageContent):
            raise TypeError(f"content is a text or a list of text and image blocks, not of {type(block).__name__}")
    return blocks


def as_message_draft(draft: CustomMessageDraft | Mapping[str, Any]) -> CustomMessageDraft:
    """Return the draft that an extension gave, checked."""
    made = record(CustomMessageDraft, draft) if isinstance(draft, Mapping) else draft
    if not isinstance(made, CustomMessageDraft) or not isinstance(made.custom_type, str):
        raise TypeError("a message is a CustomMessageDraft(custom_type, content)")
    made = msgspec.structs.replace(made, content=as_blocks(made.content))
    check_fit(made, CustomMessageDraft, "message")
    return made


@lru_cache(maxsize=256)
def snake_case(name: str) -> str:
    """Return `name` in snake case; ``continue`` is a word of Python and has an underscore behind it."""
    snake = _CAMEL.sub(lambda match: "_" + match[1], name).lower()
    return "continue_" if snake == "continue" else snake


def _as_it_is(value: Any) -> Any:
    return value


def _made(kind: type[Struct]) -> Callable[[Any], Any]:
    return lambda value: record(kind, value) if isinstance(value, Mapping) else value


def _block(value: Mapping[str, Any]) -> Any:
    blocks = normalize_content([dict(value)])
    return blocks[0] if blocks else value


def _draft(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    fields = dict(value)
    kind = _DRAFTS.get(str(fields.pop("type", None)))
    if kind is None:
        raise TypeError(f"the type of an entry is one of {', '.join(_DRAFTS)}")
    return record(kind, fields)


def _message(value: Any) -> Any:
    """A message of an extension is a message; a mapping with a ``customType`` and no role is a draft of one."""
    if isinstance(value, CustomMessageDraft | BaseMessage) or value is None:
        return value
    if isinstance(value, Mapping) and "role" not in value:
        return as_message_draft(value)
    if isinstance(value, Mapping):
        return normalize_message(value, now_ms())
    raise TypeError(f"{type(value).__name__} is no message")


def _summary(value: Any) -> Any:
    return record(BranchSummaryProposal, value) if isinstance(value, Mapping) else value


_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "compaction": _made(CompactionProposal),
    "summary": _summary,
    "message": _message,
    "messages": lambda messages: [_message(message) for message in messages],
    "entries": lambda entries: [_draft(entry) for entry in entries],
    "content": lambda content: None if content is None else as_blocks(content),
    "images": lambda images: None if images is None else as_blocks(images),
    "usage": lambda usage: msgspec.convert(usage, Usage) if isinstance(usage, Mapping) else usage,
}
