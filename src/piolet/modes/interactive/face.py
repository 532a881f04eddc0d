"""The face of a `Runtime` in a terminal: what happens there is shown, what the user does goes there.

It holds the parts together. How things look is in `piolet.tui`, what keys do in `actions`, what Enter does in
`submission`, slash commands in `commands`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from piolet.agent.events import AgentStart, QueueUpdate
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.runtime import Runtime
from piolet.app.settings import SettingsError
from piolet.app.trust import Ask, TrustError, TrustOption
from piolet.harness.errors import HarnessError
from piolet.harness.events import (
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    HarnessEvent,
    ModelSelect,
    SessionInfoChanged,
    SummarizationRetryScheduled,
    ThinkingLevelSelect,
)
from piolet.harness.session.errors import SessionError
from piolet.llm.messages import text_of
from piolet.modes.interactive import actions, dialogs
from piolet.modes.interactive.activity import Activity
from piolet.modes.interactive.footer import Footer
from piolet.modes.interactive.looks import Looks
from piolet.modes.interactive.presenter import Look, Presenter
from piolet.modes.interactive.submission import Submission
from piolet.modes.interactive.thinking_block import ThinkingBlock
from piolet.tui.blocks.footer import footer_lines
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.notices import queue_lines
from piolet.tui.editor import Editor
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.panels.panel import Panel
from piolet.tui.select_list import Item
from piolet.tui.spans import Line
from piolet.tui.transcript import TranscriptBlock

if TYPE_CHECKING:
    from piolet.modes.interactive.app import InteractiveApp

T = TypeVar("T")

#: Opens the runtime; gets what asks whether a project is trusted.
OpenRuntime = Callable[[Ask], Awaitable[Runtime]]
MakePrompts = Callable[[Runtime], Sequence[UserPrompt]]

#: What may go wrong when a user asks for something: told in a line, and the program goes on.
EXPECTED = (PromptRejected, HarnessError, SessionError, SettingsError, TrustError, OSError)


class Face:
    """See the module. `app` draws it; the runtime is there once `begin` has opened it."""

    def __init__(self, open_runtime: OpenRuntime, make_prompts: MakePrompts, terminal: Any = None) -> None:
        from piolet.modes.interactive.app import InteractiveApp

        self._open_runtime = open_runtime
        self._make_prompts = make_prompts
        self._runtime: Runtime | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._queue = QueueUpdate((), ())
        self._stop_ticking: Callable[[], None] | None = None
        self.failure: Exception | None = None
        self.keymap = Keymap()
        self.editor = Editor(self.keymap)
        self.looks = Looks()
        self.activity = Activity()
        self.footer = Footer()
        self.statuses: dict[str, str] = {}
        self.last_clear = 0.0  # when the user last cleared nothing
        self.submission = Submission(self)
        self.app: InteractiveApp = InteractiveApp(self, self.editor, self.looks.strips(), terminal)
        self.presenter = Presenter(self.app.transcript_view.transcript, Look(), self.app.transcript_view.paint_soon)

    # --------------------------------------------------------------------------------------------------------- start

    @property
    def ready(self) -> bool:
        """Whether the runtime is there."""
        return self._runtime is not None

    @property
    def runtime(self) -> Runtime:
        assert self._runtime is not None, "nothing is asked of the runtime before it is there"
        return self._runtime

    def begin(self) -> None:
        """Open the runtime; the screen is there already."""
        self.start(self._begin())

    async def _begin(self) -> None:
        try:
            runtime = await self._open_runtime(self.ask_trust)
        except Exception as error:
            self.failure = error
            self.app.exit(1)
            return
        self._runtime = runtime
        runtime.subscribe(self._on_event)
        self.take_on_services()
        self.take_on_session()
        for prompt in self._make_prompts(runtime):
            await self.submission.send(prompt)

    async def ask_trust(self, folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
        """Ask whether the project's files may be loaded."""
        items = [Item(option, option.label) for option in options]
        return await self.ask(
            lambda done: ListPanel("Trust project folder?", items, done, lambda: done(None), keymap=self.keymap)
        )

    def take_on_services(self) -> None:
        """Use the settings, keys and themes of the runtime's services, which are new."""
        services = self.runtime.services
        settings = services.settings
        self.keymap = self.editor.keymap = Keymap(services.keybindings.keys)
        self.editor.padding = settings.editor_padding_x
        self.editor.menu_rows = settings.autocomplete_max_visible
        self.app.transcript_view.scrollbar = settings.fullscreen_scrollbar
        self.presenter.look.hide_thinking = settings.hide_thinking_block
        self.presenter.look.cwd = str(services.cwd)
        self.presenter.look.home = str(services.options.home)
        themes = {name: loaded.theme for name, loaded in services.resources.themes.items()}
        if problem := self.looks.apply(settings, themes):
            self.presenter.warn(problem)
        self.app.set_strips(self.looks.strips())
        self.app.transcript_view.set_frame(
            padding=settings.output_pad,
            hyperlinks=self.looks.caps.hyperlinks,
            code_indent=settings.code_block_indent,
            expand_key=self.keymap.label("app.tools.expand"),
        )

    def take_on_session(self) -> None:
        """Show the session of the runtime, which is another one."""
        self._queue = QueueUpdate((), ())
        self.presenter.show_session(self.runtime.session.harness.agent.messages)
        self.refresh()

    # --------------------------------------------------------------------------------------------------- doing things

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do `work` beside everything else. What is expected to go wrong is told in a line; a fault ends the app."""
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except EXPECTED as error:
            self.presenter.error(str(error))
        except Exception as error:
            self.app._handle_exception(error)

    async def ask(self, make: Callable[[Callable[[T | None], None]], Panel]) -> T | None:
        """Ask with a panel; see `dialogs.ask`."""
        return await dialogs.ask(self.app, make)

    def quit(self) -> None:
        """Leave."""
        self.app.exit(0)

    async def dispose(self) -> None:
        """Stop what is under way and close the session."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._runtime is not None:
            await self._runtime.dispose()
            self._runtime = None

    # --------------------------------------------------------------------------------------------------------- events

    def on_key(self, key: Key) -> bool:
        """Take a key before the editor does; return whether it was taken."""
        return actions.on_key(self, key)

    def on_click(self, block: TranscriptBlock) -> None:
        """Fold or unfold what was clicked."""
        if isinstance(block, ThinkingBlock):
            block.hidden = not block.hidden
            self.presenter.changed(block)
        else:
            self.presenter.transcript.toggle(block)
            self.app.transcript_view.paint()

    def on_select(self, text: str) -> None:
        """Text was selected with the mouse."""

    def on_report(self, sequence: str) -> None:
        """The terminal said something."""
        if self.looks.hear(sequence) and self.ready:
            self.take_on_services()

    def on_terminal_gone(self) -> None:
        self.app.exit(129)

    def _on_event(self, event: HarnessEvent) -> None:
        self.presenter.on_event(event)
        match event:
            case AgentStart() | AutoRetryEnd(success=True):
                self.activity.work()
            case AgentSettled():
                self.activity.end()
            case QueueUpdate():
                self._queue = event
            case AutoRetryStart():
                self.activity.wait(
                    f"Retrying ({event.attempt}/{event.max_attempts}) in {{}}s... (escape to cancel)",
                    time.monotonic() + event.delay_ms / 1000,
                )
            case CompactionStart():
                self.activity.say("Compacting context...")
            case SummarizationRetryScheduled():
                self.activity.wait(
                    f"Retrying the summary ({event.attempt}/{event.max_attempts}) in {{}}s... (escape to cancel)",
                    time.monotonic() + event.delay_ms / 1000,
                )
            case CompactionEnd():
                if event.result is not None:
                    self.presenter.show_session(self.runtime.session.harness.agent.messages)
                if self.runtime.session.is_streaming:
                    self.activity.work()
                else:
                    self.activity.end()
            case SessionInfoChanged() | ModelSelect() | ThinkingLevelSelect():
                pass
            case _:
                return
        self.refresh()

    # ---------------------------------------------------------------------------------------------------------- drawing

    def refresh(self) -> None:
        """Draw what stands around the transcript as things are now."""
        if self.ready:
            level = self.runtime.session.thinking_level
            self.app.editor_area.rule_color = f"thinking{level.title()}"
        self._tick()
        if self.activity.busy and self._stop_ticking is None:
            self._stop_ticking = self.app.every(self.activity.seconds, self._tick)
        elif not self.activity.busy and self._stop_ticking is not None:
            self._stop_ticking()
            self._stop_ticking = None
        self.app.redraw()

    def _tick(self) -> None:
        self.app.editor_area.set_busy(self.activity.line(time.monotonic()))
        self.presenter.tick()

    def pending_lines(self, width: int) -> Sequence[Line]:
        """Return what waits to be sent."""
        steering = [text_of(getattr(message, "content", "")) for message in self._queue.steering]
        follow_up = [text_of(getattr(message, "content", "")) for message in self._queue.follow_up]
        return queue_lines(steering, follow_up, Frame(width), self.keymap.label("app.message.dequeue"))

    def widgets_above(self, width: int) -> Sequence[Line]:
        return ()

    def widgets_below(self, width: int) -> Sequence[Line]:
        return ()

    def footer_lines(self, width: int) -> Sequence[Line]:
        if not self.ready:
            return ()
        return footer_lines(self.footer.view(self.runtime.session), width, self.statuses)
