"""What is under way: the rule above the editor, the queue, the terminal's progress mark."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from piolet.agent.events import AgentStart, MessageEnd, QueueUpdate
from piolet.harness.events import (
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    HarnessEvent,
    ModelSelect,
    SessionInfoChanged,
    SessionTree,
    SummarizationRetryScheduled,
    ThinkingLevelSelect,
)
from piolet.harness.hook_points import TOOL_CALL
from piolet.llm.messages import AssistantMessage, ToolCall, text_of
from piolet.modes.interactive import controls
from piolet.modes.interactive.activity import Activity
from piolet.modes.interactive.cache_misses import CacheMisses
from piolet.modes.interactive.edit_preview import edit_preview
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.notices import queue_lines
from piolet.tui.spans import Line

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


class Progress:
    """Follows the events of the session."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._queue = QueueUpdate((), ())
        self._stop_ticking: Callable[[], None] | None = None
        self._at_settle: list[Callable[[], object]] = []
        self._shown_progress = False
        self._cache_misses = CacheMisses()
        self.activity = Activity()

    def forget(self) -> None:
        """The session is another one, with nothing queued."""
        self._queue = QueueUpdate((), ())
        self._cache_misses.forget()
        self._face.status.forget()

    def when_settled(self, call: Callable[[], object]) -> None:
        """Call when the run under way has settled."""
        self._at_settle.append(call)

    def on_event(self, event: HarnessEvent) -> None:
        """Show what happened."""
        self._face.presenter.on_event(event)
        self._face.status.on_event(event)
        if self._note(event):
            self._face.refresh()

    def _note(self, event: HarnessEvent) -> bool:
        """Take in what `event` says of what is under way; return whether what stands around the transcript changed."""
        activity = self.activity
        match event:
            case AgentStart() | AutoRetryEnd(success=True):
                activity.work()
            case AgentSettled():
                activity.end()
                calls, self._at_settle = self._at_settle, []
                for call in calls:
                    call()
            case QueueUpdate():
                self._queue = event
            case AutoRetryStart():
                activity.wait(
                    f"Retrying ({event.attempt}/{event.max_attempts}) in {{}}s... (escape to cancel)",
                    time.monotonic(),
                    event.delay_ms / 1000,
                )
            case CompactionStart(reason=reason):
                why = {"threshold": " (context nearly full)", "overflow": " (context full)"}.get(reason, "")
                activity.say(f"Compacting context{why}... (escape to cancel)")
            case SummarizationRetryScheduled():
                activity.wait(
                    f"Retrying the summary ({event.attempt}/{event.max_attempts}) in {{}}s... (escape to cancel)",
                    time.monotonic(),
                    event.delay_ms / 1000,
                )
            case CompactionEnd():
                self._end_compaction(event)
            case SessionTree():
                self._face.opened.show_session()
            case MessageEnd(message=AssistantMessage() as answer):
                self._preview_edits(answer)
                self._tell_of_cache(answer)
            case MessageEnd() | SessionInfoChanged() | ModelSelect() | ThinkingLevelSelect():
                pass
            case _:
                return False
        return True

    def _end_compaction(self, event: CompactionEnd) -> None:
        session = self._face.runtime.session
        if event.result is not None:
            self._cache_misses.forget()
            self._face.opened.show_messages()
        if session.is_streaming:
            self.activity.work()
        else:
            self.activity.end()

    def _tell_of_cache(self, answer: AssistantMessage) -> None:
        miss = self._cache_misses.judge(answer)
        if miss and self._face.runtime.services.settings.show_cache_miss_notices:
            self._face.presenter.status(miss)

    def _preview_edits(self, answer: AssistantMessage) -> None:
        """Show what edits will change, if somebody may be asked about them first."""
        face = self._face
        if face.runtime.hooks.wanted(TOOL_CALL):
            for call in answer.tool_calls:
                if call.name == "edit":
                    face.start(self._preview(call))

    async def _preview(self, call: ToolCall) -> None:
        presenter = self._face.presenter
        diff = await edit_preview(self._face.runtime.services.environment, call.arguments)
        block = presenter.tool(call.id)
        if diff and block is not None and not block.done:
            block.preview(diff)
            presenter.changed(block)

    # ------------------------------------------------------------------------------------------------------- drawing

    def refresh(self) -> None:
        """Show what is under way, and let time pass while something is."""
        app, busy = self._face.app, self.activity.busy
        changing = busy and (self.activity.animated or self._face.shell.running)
        self._tick()
        if changing and self._stop_ticking is None:
            self._stop_ticking = app.every(self.activity.seconds, self._tick)
        elif not changing and self._stop_ticking is not None:
            self._stop_ticking()
            self._stop_ticking = None
        wanted = busy and self._face.ready and self._face.runtime.services.settings.show_terminal_progress
        if wanted != self._shown_progress:
            self._shown_progress = wanted
            app.write(controls.PROGRESS if wanted else controls.NO_PROGRESS)

    def draw(self) -> None:
        """Show what is under way as it is now."""
        self._face.app.editor_area.set_busy(self.activity.line(time.monotonic()))

    def _tick(self) -> None:
        face = self._face
        if not face.app.transcript_view.paints_soon:  # else it is drawn in the same frame
            self.draw()
        face.presenter.tick()
        if face.shell.running:
            face.app.pending_view.redraw()

    def pending_lines(self, width: int) -> Sequence[Line]:
        """Return what waits below the transcript: a command of the user, and what is queued."""
        face = self._face
        frame = Frame(width, padding=face.app.transcript_view.transcript.frame.padding)
        steering = [text_of(getattr(message, "content", "")) for message in self._queue.steering]
        follow_up = [text_of(getattr(message, "content", "")) for message in self._queue.follow_up]
        queued = queue_lines(steering, follow_up, frame, face.keymap.label("app.message.dequeue"))
        return [*face.shell.pending_lines(frame), *queued]
