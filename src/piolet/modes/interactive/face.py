"""The face of a `Runtime` in a terminal: what happens there is shown, what the user does goes there.

It holds the parts together and does no work of its own: what keys do is in `actions`, what Enter does in `submission`,
slash commands in `commands`, what events become in `presenter` and `progress`, how things look in `piolet.tui`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from piolet.app.prompt import PromptRejected
from piolet.app.runtime import Runtime
from piolet.app.settings import Settings, SettingsError, TuiMode
from piolet.app.trust import TrustError
from piolet.harness.errors import HarnessError
from piolet.harness.session.errors import SessionError
from piolet.llm.errors import LlmError
from piolet.modes.interactive import actions, clipboard, controls, dialogs, theme_watch
from piolet.modes.interactive.ending import farewell, last_lines
from piolet.modes.interactive.footer import Footer
from piolet.modes.interactive.looks import Looks
from piolet.modes.interactive.message_look import Look
from piolet.modes.interactive.opened import Opened
from piolet.modes.interactive.opening import Opening, open_on_screen
from piolet.modes.interactive.presenter import Presenter
from piolet.modes.interactive.program_status import ProgramStatus
from piolet.modes.interactive.progress import Progress
from piolet.modes.interactive.sources import sources
from piolet.modes.interactive.submission import Submission
from piolet.modes.interactive.surface import Surface, limited
from piolet.modes.interactive.thinking_block import ThinkingBlock
from piolet.modes.interactive.user_shell import UserShell
from piolet.tui.blocks.footer import footer_lines
from piolet.tui.editor import Editor
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import Panel
from piolet.tui.panels.question import ComponentPanel
from piolet.tui.program_status import STATUS_QUERY
from piolet.tui.spans import Line
from piolet.tui.terminal_caps import ATTRIBUTES_QUERY, CELL_QUERY, COLOR_QUERY
from piolet.tui.theme import Theme
from piolet.tui.transcript import TranscriptBlock

if TYPE_CHECKING:
    from piolet.modes.interactive.app import InteractiveApp
    from piolet.modes.interactive.streams import Streams

T = TypeVar("T")

BRANCH_SECONDS = 2.0  # after which another branch of the working folder is seen

#: What may go wrong when a user asks for something: told in a line, and the program goes on.
EXPECTED = (PromptRejected, HarnessError, SessionError, SettingsError, TrustError, LlmError, OSError)


class Face:
    """See the module. `app` draws it; the runtime is there once `begin` has opened it."""

    def __init__(self, opening: Opening, streams: Streams | None = None) -> None:
        from piolet.modes.interactive.app import InteractiveApp

        self._opening = opening
        self._runtime: Runtime | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.started = False  # the session is shown
        self.aborting = False  # what is under way was asked to stop
        self.failure: Exception | None = None  # why the runtime could not be opened
        self.keymap = Keymap()
        self.editor = Editor(self.keymap)
        self.looks = Looks()
        self.theme_of_run = opening.theme  # until another is chosen
        self.footer = Footer()
        self.statuses: dict[str, str] = {}
        self._title = self._given_title = ""
        self.surface = Surface(self)
        self.keys = actions.Keys(self)
        self.submission = Submission(self)
        self.shell = UserShell(self)
        self.progress = Progress(self)
        self.status = ProgramStatus(lambda report: self.app.tell_status(report))
        self.app: InteractiveApp = InteractiveApp(
            self, self.editor, self.looks.strips(), streams, regular=opening.regular
        )
        self.app.editor_area.use_sources(sources(self))
        self.app.editor_area.failed = self.surface.completion_failed
        self.app.editor_area.draw_instead = partial(self.surface.slot_lines, "editor")
        self.dialogs = dialogs.Dialogs(self.app, lambda: self.keymap)
        look = Look(album=self.app.album)
        self.presenter = Presenter(self.app.transcript, look, lambda: self.app.transcript_view.paint_soon())
        self.opened = Opened(self)

    # --------------------------------------------------------------------------------------------------------- start

    @property
    def ready(self) -> bool:
        """Whether the runtime is there."""
        return self._runtime is not None

    @property
    def runtime(self) -> Runtime:
        assert self._runtime is not None, "nothing is asked of the runtime before it is there"
        return self._runtime

    def adopt(self, runtime: Runtime) -> None:
        """Work with `runtime`, which was opened for this face."""
        self._runtime = runtime

    def begin(self) -> None:
        """Open the runtime; the screen is there already."""
        status = "" if self.looks.caps.dumb else STATUS_QUERY
        self.app.write(status + COLOR_QUERY + CELL_QUERY + ATTRIBUTES_QUERY)
        self.app.every(theme_watch.SECONDS, theme_watch.ThemeWatch(self).look)
        self.app.every(BRANCH_SECONDS, self.app.footer_view.redraw)
        self.start(open_on_screen(self, self._opening))

    # --------------------------------------------------------------------------------------------------- doing things

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
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
            self.app.fail(error)

    def guarded(self, call: Callable[[], object]) -> Callable[[], None]:
        """Return `call` with its expected errors told in a line."""

        def guarded() -> None:
            try:
                call()
            except EXPECTED as error:
                self.presenter.error(str(error))

        return guarded

    async def ask(self, make: Callable[[Callable[[T | None], None]], Panel]) -> T | None:
        """Ask with a panel; see `dialogs.ask`."""
        return await dialogs.ask(self.app, make)

    def set_editor_text(self, text: str) -> None:
        """Replace what is in the editor."""
        self.editor.set_text(text)
        self.app.editor_area.update()

    async def copy(self, text: str) -> None:
        """Put `text` into the clipboard: of the desktop if there is one here, and of the terminal."""
        if not await clipboard.copy(text):
            self.app.write(controls.clipboard_write(text))

    def quit(self, code: int = 0) -> None:
        """Leave."""
        self.app.exit(code)

    def farewell(self) -> str:
        """Return what is left in the terminal when the screen is gone."""
        if not self.ready:
            return ""
        app = self.app
        app.transcript.resize(replace(app.transcript.frame, pictures=None), app.transcript.height)
        if not app.regular and self.runtime.services.settings.fullscreen_exit_output != "transcript":
            lines = []
        elif app.regular or app.scrollback:
            lines = app.scrollback.take(app.transcript, lambda block: True)
        else:
            lines = last_lines(app.transcript, marks=not self.looks.caps.dumb)
        session = self.runtime.session.session
        return farewell(lines, session, self.looks.palette, links=self.looks.caps.hyperlinks)

    def quit_when_idle(self) -> None:
        """Leave when nothing is under way any more."""
        if self.runtime.session.is_streaming:
            self.progress.when_settled(self.quit)
        else:
            self.quit()

    async def dispose(self) -> None:
        """Stop what is under way and close the session."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._runtime is not None:
            await self._runtime.dispose()
            self._runtime = None

    # --------------------------------------------------------------------------------------- what the screen tells us

    def on_key(self, key: Key) -> None:
        """A key was pressed: it is for the panel, if one is shown, else for the program, else for the editor."""
        panel = self.app.panel
        if self.surface.hear(key):
            return
        if panel is not None:
            if not panel.handle(key):
                self.keys.left_over(key, panel.close if isinstance(panel, ComponentPanel) else None)
            self.app.redraw_panel()
        elif not self.surface.edit(key):
            self.edit(key)
        else:
            self.app.editor_area.redraw()

    def edit(self, key: Key) -> bool:
        """Do what `key` means to the program, else to the editor; return whether it meant something."""
        if self.keys.handle(key):
            self.editor.forget_jump()
            return True
        outcome = self.editor.handle(key)
        if outcome == "submit":
            self.submission.submit()
        if outcome != "ignored":
            self.app.editor_area.update()
        return outcome != "ignored"

    def on_paste(self, text: str) -> None:
        """Text was pasted."""
        panel = self.app.panel
        if panel is not None:
            panel.paste(text)
            self.app.redraw_panel()
        else:
            self.editor.paste(text)
            self.app.editor_area.update()

    def is_finished(self, block: TranscriptBlock) -> bool:
        """Whether a block of the session that is shown will not change any more."""
        return self.opened.showing and self.presenter.is_finished(block)

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
        if self.ready and self.runtime.services.settings.fullscreen_copy_on_select:
            self.start(self.copy(text))

    def on_report(self, sequence: str) -> None:
        """The terminal said something."""
        self.status.hear(sequence)
        if self.looks.hear(sequence):
            if self.ready:
                self.use_theme(self.theme_setting)
            else:
                self.show_theme(self.looks.system())
        if self.looks.hear_of_pictures(sequence) and self.ready:
            self.opened.show_pictures()

    def on_resize(self) -> None:
        """The terminal has another size, and maybe another font."""
        if self.app.pictures.active:
            self.app.write(CELL_QUERY)
        if self.looks.measure(self.app.cell) and self.ready:
            self.opened.show_pictures()

    # ---------------------------------------------------------------------------------------------------------- drawing

    def refresh(self) -> None:
        """Draw what stands around the transcript as things are now."""
        if self.ready:
            session = self.runtime.session
            self.app.editor_area.rule_color = f"thinking{session.thinking_level.title()}"
            title = self._given_title or controls.session_title(session.session.name, str(session.services.cwd))
            self._write_title(title)
        self.progress.refresh()
        self.app.redraw()

    def set_title(self, title: str) -> None:
        """Name the window until the session is another one; empty: as usual."""
        self._given_title = title
        self.refresh()

    def _write_title(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self.app.write(controls.window_title(title))

    @property
    def theme_setting(self) -> str | None:
        """The name of the theme, or of two for light and dark; None: the terminal's own colours."""
        return self.theme_of_run or self.runtime.services.settings.theme

    def use_theme(self, setting: str | None) -> None:
        """Draw everything in the colours of another theme."""
        services = self.runtime.services
        themes = {name: loaded.theme for name, loaded in services.resources.themes.items()}
        if problem := self.looks.apply(services.settings, themes, setting):
            self.presenter.warn(problem)
        self._recolor()

    def show_theme(self, theme: Theme | str) -> str | None:
        """Draw everything in the colours of a theme; return what is wrong with it, if anything."""
        if isinstance(theme, Theme):
            self.looks.theme = theme
        else:
            themes = {name: loaded.theme for name, loaded in self.runtime.services.resources.themes.items()}
            if problem := self.looks.apply(self.runtime.services.settings, themes, theme):
                return problem
        self._recolor()
        return None

    def _recolor(self) -> None:
        self.app.set_strips(self.looks.strips())
        self.surface.recolor()
        self.presenter.recolor()

    @property
    def mode(self) -> TuiMode:
        """Where the transcript is shown."""
        return "regular" if self.app.regular else "fullscreen"

    def set_mode(self, mode: TuiMode) -> None:
        """Show the transcript on a screen of its own or in the terminal's scrollback, from now on; not while something
        floats over the one that is there."""
        if self.app.overlays:
            self.presenter.status("The mode cannot be changed while an overlay is open")
            return
        self.runtime.services.files.set(Settings.tui_mode, mode)
        self.app.set_mode(regular=mode == "regular")
        self.opened.show_services()

    def widgets_above(self, width: int) -> Sequence[Line]:
        return self.surface.widget_lines("above_editor", width)

    def widgets_below(self, width: int) -> Sequence[Line]:
        return self.surface.widget_lines("below_editor", width)

    def footer_lines(self, width: int) -> Sequence[Line]:
        if not self.ready:
            return ()
        own = self.surface.slot_lines("footer", width)
        if own is not None:
            return limited(own, width)
        return footer_lines(self.footer.view(self.runtime.session), width, self.statuses)
