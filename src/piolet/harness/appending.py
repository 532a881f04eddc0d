"""``Appender``: puts entries that are no part of a run into the session, at once or where the context is whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

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
from piolet.llm.messages import BaseMessage

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness


class Appender:
    """Appends to the session of `harness`, and keeps what has to wait."""

    def __init__(self, harness: AgentHarness) -> None:
        self._harness = harness
        self._at_turn_end: list[EntryDraft] = []
        self._when_idle: list[EntryDraft | BaseMessage] = []

    def place(
        self, entry: EntryDraft | BaseMessage, when: Literal["now", "idle"]
    ) -> tuple[str | None, Sequence[HarnessEvent]]:
        """Append an entry or let it wait (the rule is that of `AgentHarness.append`).

        Return its id (None: it waits) and the events that tell of it, for the caller to publish. Raises `SessionError`.
        """
        busy = self._harness.operation is not None
        if busy and (when == "idle" or isinstance(entry, BaseMessage)):
            self._when_idle.append(entry)
            return None, ()
        if busy and isinstance(entry, CONTEXT_DRAFTS):
            self._at_turn_end.append(entry)
            return None, ()
        return self._append(entry)

    async def append_all(self, entries: Sequence[EntryDraft | BaseMessage]) -> None:
        """Append entries at a boundary, where the context is whole; one that cannot be stored stops the run."""
        for entry in entries:
            events: Sequence[HarnessEvent] = ()
            with self._harness.recording():
                _, events = self._append(entry)
            for event in events:
                await self._harness.publish(event)

    async def append_checked(self, boundary: str, entries: Sequence[EntryDraft]) -> None:
        """Append what handlers of `boundary` want, all or, if one of them cannot be stored, none; that is reported."""
        try:
            check_drafts(self._harness.session, entries)
        except Exception as error:
            self._harness.hooks.report(HookFailure(boundary, "entries of a boundary", tuple(entries), error, 0))
            return
        await self.append_all(entries)

    async def flush_turn(self) -> None:
        """Append what waited for the end of the turn."""
        waiting, self._at_turn_end = self._at_turn_end, []
        await self.append_all(waiting)

    async def flush_idle(self) -> None:
        """Append what waited for the end of the run."""
        await self.flush_turn()
        waiting, self._when_idle = self._when_idle, []
        await self.append_all(waiting)
        self._harness.recorder.forget()
        self._harness.refresh_context()

    def _append(self, entry: EntryDraft | BaseMessage) -> tuple[str, Sequence[HarnessEvent]]:
        harness = self._harness
        if isinstance(entry, BaseMessage):
            entry_id = harness.recorder.store(entry)
            harness.recorder.forget()
            harness.context_is_stale = True
        else:
            entry_id = append_draft(harness.session, entry)
            harness.context_is_stale = harness.context_is_stale or isinstance(entry, CONTEXT_DRAFTS)
        if harness.operation is None:
            harness.refresh_context()
        match entry:
            case CustomDraft() | ContextEditDraft():
                return entry_id, [EntryAppended(harness.session.get_entry(entry_id))]
            case CustomMessageDraft():
                message = entry.message()
                return entry_id, [MessageStart(message), MessageEnd(message)]
            case _:
                return entry_id, ()
