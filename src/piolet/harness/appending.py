"""``Appender``: puts entries that are no part of a run into the session, at once or where the context is whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from piolet.agent.events import MessageEnd, MessageStart
from piolet.harness.drafts import (
    CONTEXT_DRAFTS,
    ContextEditDraft,
    CustomDraft,
    CustomMessageDraft,
    EntryDraft,
    append_draft,
    check_drafts,
)
from piolet.harness.events import EntryAppended, HarnessEvent
from piolet.harness.hooks import HookFailure
from piolet.harness.messages import CustomMessage
from piolet.harness.session.errors import InvalidEntry, SessionError, UnknownEntry
from piolet.llm.messages import BaseMessage

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness

Appendable: TypeAlias = EntryDraft | BaseMessage


class Appender:
    """Appends to the session of `harness`, and keeps what has to wait."""

    def __init__(self, harness: AgentHarness) -> None:
        self._harness = harness
        self._at_turn_end: list[Appendable] = []
        self._when_idle: list[Appendable] = []

    def place(self, entry: Appendable, when: Literal["now", "idle"]) -> tuple[str | None, Sequence[HarnessEvent]]:
        """Append an entry or let it wait (the rule is that of `AgentHarness.append`).

        Return its id (None: it waits) and the events that tell of it, for the caller to publish. Raises `SessionError`.
        """
        if self._harness.operation is None:
            placed = self._append(entry)
            self._harness.context.refresh()
            return placed
        if not isinstance(entry, BaseMessage):
            check_drafts(self._harness.session, [entry])
        if when == "idle":
            self._when_idle.append(entry)
        elif isinstance(entry, (BaseMessage, *CONTEXT_DRAFTS)):
            self._at_turn_end.append(entry)
        else:
            return self._append(entry)
        return None, ()

    async def append_all(self, entries: Sequence[Appendable]) -> None:
        """Append entries at a boundary, where the context is whole; one that cannot be stored stops the run."""
        for entry in entries:
            events: Sequence[HarnessEvent] = ()
            with self._harness.recorder.recording():
                _, events = self._append(entry)
            for event in events:
                await self._harness.publish(event)

    async def append_checked(self, boundary: str, entries: Sequence[EntryDraft]) -> None:
        """Append what handlers of `boundary` want, all or, if one of them cannot be stored, none; that is reported."""
        try:
            check_drafts(self._harness.session, entries)
        except (InvalidEntry, UnknownEntry) as error:
            self._harness.hooks.report(HookFailure(boundary, "entries of a boundary", tuple(entries), error, 0))
            return
        await self.append_all(entries)

    async def flush_turn(self) -> None:
        """Append what waited for the end of the turn."""
        await self._flush(self._at_turn_end)

    async def flush_idle(self) -> None:
        """Append what waited for the end of the operation."""
        await self._flush(self._at_turn_end)
        await self._flush(self._when_idle)
        self._harness.context.refresh()

    async def _flush(self, waiting: list[Appendable]) -> None:
        """What the session cannot take now goes on waiting; what it never will take is reported."""
        while waiting:
            events: Sequence[HarnessEvent] = ()
            try:
                _, events = self._append(waiting[0])
            except (InvalidEntry, UnknownEntry) as error:
                self._harness.hooks.report(HookFailure("append", "an entry that waited", waiting[0], error, 0))
            except SessionError as error:
                self._harness.recorder.fail(error)
                return
            del waiting[0]
            for event in events:
                await self._harness.publish(event)

    def _append(self, entry: Appendable) -> tuple[str, Sequence[HarnessEvent]]:
        harness = self._harness
        if isinstance(entry, BaseMessage):
            entry_id = harness.recorder.append(entry)
        else:
            entry_id = append_draft(harness.session, entry)
        if isinstance(entry, (BaseMessage, *CONTEXT_DRAFTS)):
            harness.context.invalidate()
        match entry:
            case CustomDraft() | ContextEditDraft():
                return entry_id, [EntryAppended(harness.session.get_entry(entry_id))]
            case CustomMessageDraft():
                return entry_id, _told(entry.message())
            case CustomMessage():
                return entry_id, _told(entry)
            case _:
                return entry_id, ()


def _told(message: CustomMessage) -> Sequence[HarnessEvent]:
    return MessageStart(message), MessageEnd(message)
