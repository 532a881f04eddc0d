"""Entries that somebody wants in the session, before they have an id and a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from piolet.base.ids import now_ms
from piolet.base.json import encode
from piolet.harness.messages import CustomMessage
from piolet.harness.session.entries import Replacement
from piolet.harness.session.errors import InvalidEntry
from piolet.llm.messages import Usage, UserBlock

if TYPE_CHECKING:
    from piolet.harness.session.session import Session


class CustomDraft(Struct, frozen=True):
    """State of an extension or embedder; never reaches the model."""

    custom_type: str
    data: Any = None


class CustomMessageDraft(Struct, frozen=True):
    """A message that the model sees as a user message. `display`: shown on screens."""

    custom_type: str
    content: str | Sequence[UserBlock]
    display: bool = True
    details: Any = None

    def message(self) -> CustomMessage:
        return CustomMessage(self.custom_type, self.content, self.display, now_ms(), self.details)


class ContextEditDraft(Struct, frozen=True):
    """Takes the target's message out of the context, or gives it other content (a string or blocks)."""

    target_id: str
    content: str | Sequence[UserBlock] | None = None


class CompactionDraft(Struct, frozen=True):
    """A summary that stands for what is before `first_kept_entry_id` (None: nothing older is kept)."""

    summary: str
    first_kept_entry_id: str | None
    tokens_before: int
    details: Any = None
    usage: Usage | None = None
    from_hook: bool = False


class LabelDraft(Struct, frozen=True):
    """Names an entry; None or an empty label takes the name away."""

    target_id: str
    label: str | None


EntryDraft: TypeAlias = CustomDraft | CustomMessageDraft | ContextEditDraft | CompactionDraft | LabelDraft
#: Drafts that change what the model sees.
CONTEXT_DRAFTS = (CustomMessageDraft, ContextEditDraft, CompactionDraft)


def append_draft(session: Session, draft: EntryDraft) -> str:
    """Append `draft` at the leaf of `session`; return the new entry's id. Raises `SessionError`."""
    match draft:
        case CustomDraft():
            return session.append_custom(draft.custom_type, draft.data)
        case CustomMessageDraft():
            return session.append_custom_message(draft.custom_type, draft.content, draft.display, draft.details)
        case ContextEditDraft():
            replacement = None if draft.content is None else Replacement(draft.content)
            return session.append_context_edit(draft.target_id, replacement)
        case CompactionDraft():
            return session.append_compaction(
                draft.summary,
                draft.first_kept_entry_id,
                draft.tokens_before,
                details=draft.details,
                from_hook=draft.from_hook,
                usage=draft.usage,
            )
        case LabelDraft():
            return session.append_label(draft.target_id, draft.label)


def check_drafts(session: Session, drafts: Sequence[EntryDraft]) -> None:
    """Raise `InvalidEntry` or `UnknownEntry` if one of `drafts` could not be appended at the leaf of `session`."""
    for draft in drafts:
        if not isinstance(draft, EntryDraft):
            raise InvalidEntry(f"{type(draft).__name__} is no draft of an entry")
        try:
            encode(draft)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidEntry(f"A {type(draft).__name__} cannot be stored: {error}") from error
        match draft:
            case ContextEditDraft(target_id=target):
                session.check_editable(target)
            case CompactionDraft(first_kept_entry_id=kept):
                if kept is not None and session.head(kept) not in session.path_heads():
                    raise InvalidEntry(f"Entry {kept} is not on the current branch, so a compaction cannot keep it")
            case LabelDraft(target_id=target):
                session.head(target)
            case _:
                pass
