"""The face of a `Runtime` in a terminal: what happens there is shown, what the user does goes there.

It holds the parts together and does no work of its own: what keys do is in `actions`, what Enter does in `submission`,
slash commands in `commands`, what events become in `presenter` and `progress`, how things look in `piolet.tui`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from piolet.app.hook_points import SESSION_SHUTDOWN, SESSION_START, SessionShutdown, SessionStart
from piolet.app.local_models import how_to_use, unconfigured_servers
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.runtime import Runtime
from piolet.app.settings import SettingsError
from piolet.app.trust import Ask, TrustError
from piolet.harness.errors import HarnessError
from piolet.harness.hooks import HookFailure
from piolet.harness.session.errors import SessionError
from piolet.harness.session.places import SessionPlace
from piolet.llm.errors import LlmError
from piolet.modes.interactive import actions, clipboard, controls, dialogs, theme_watch
from piolet.modes.interactive.commands.resume import choose_session
from piolet.modes.interactive.commands.trust import ask_trust
from piolet.modes.interactive.ending import farewell, last_lines
from piolet.modes.interactive.footer import Footer
from piolet.modes.interactive.history import prompts_of
from piolet.modes.interactive.looks import Looks
from piolet.modes.interactive.presenter import Look, Presenter
from piolet.modes.interactive.progress import Progress
from piolet.modes.interactive.renderers import Renderers, ToolRenderers
from piolet.modes.interactive.screen_ui import ScreenUI
from piolet.modes.interactive.sources import sources
from piolet.modes.interactive.startup import header_block, resource_blocks
from piolet.modes.interactive.submission import Submission
from piolet.modes.interactive.surface import Surface
from piolet.modes.interactive.thinking_block import ThinkingBlock
from piolet.modes.interactive.user_shell import UserShell
from piolet.modes.interactive.whats_new import news
from piolet.tui.blocks.footer import footer_lines
from piolet.tui.blocks.messages import THINKING_LABEL
from piolet.tui.editor import Editor
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import Panel
from piolet.tui.spans import Line
from piolet.tui.terminal_caps import ATTRIBUTES_QUERY, COLOR_QUERY
from piolet.tui.theme import Theme
from piolet.tui.transcript import TranscriptBlock
from piolet.tui.widgets.tail_view import TailView
from piolet.tui.widgets.transcript_view import WHEEL_ROWS

if TYPE_CHECKING:
    from piolet.modes.interactive.app import InteractiveApp
    from piolet.modes.interactive.streams import Streams

T = TypeVar("T")

#: Opens the runtime: gets what asks whether a project is trusted, and the session that was chosen on the screen.
OpenRuntime: TypeAlias = Callable[[Ask, Path | None], Awaitable[Runtime]]
MakePrompts: TypeAlias = Callable[[Runtime], Sequence[UserPrompt]]

#: What may go wrong when a user asks for something: told in a line, and the program goes on.
EXPECTED = (PromptRejected, HarnessError, SessionError, SettingsError, TrustError, LlmError, OSError)

_FIRST, _LAST = -1_000_000, 1_000_000  # before and after the handlers of all extensions


class Face:
    """See the module. `app` draws it; the runtime is there once `begin` has opened it."""

    def __init__(
        self,
        open_runtime: OpenRuntime,
        make_prompts: MakePrompts,
        *,
        choose_in: SessionPlace | None = None,
        notices: Sequence[str] = (),
        regular: bool = False,
        streams: Streams | None = None,
    ) -> None:
        """`choose_in`: where the session to open is chosen first. `notices`: what to tell at the start."""
        from piolet.modes.interactive.app import InteractiveApp

        self._open_runtime = open_runtime
        self._make_prompts = make_prompts
        self._choose_in = choose_in
        self._notices = list(notices)
        self._told: set[str] = set()
        self._runtime: Runtime | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.started = False  # the session is shown
        self._showing = False  # its blocks are those of the transcript
        self.failure: Exception | None = None  # why the runtime could not be opened
        self.keymap = Keymap()
        self.editor = Editor(self.keymap)
        self.looks = Looks()
        self.footer = Footer()
        self.head: list[TranscriptBlock] = []
        self.statuses: dict[str, str] = {}
        self._title = self._given_title = ""
        self._shown: object = None  # the services that are taken on
        self.surface = Surface(self)
        self.keys = actions.Keys(self)
        self.submission = Submission(self)
        self.shell = UserShell(self)
        self.progress = Progress(self)
        self.app: InteractiveApp = InteractiveApp(self, self.editor, self.looks.strips(), streams, regular=regular)
        self.app.editor_area.sources = sources(self)
        self.app.editor_area.draw_instead = partial(self.surface.slot_lines, "editor")
        self.dialogs = dialogs.Dialogs(self.app, lambda: self.keymap)
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
        self.app.write(COLOR_QUERY + ATTRIBUTES_QUERY)
        self.app.every(theme_watch.SECONDS, theme_watch.ThemeWatch(self).look)
        self.start(self._begin())

    async def _begin(self) -> None:
        chosen: Path | None = None
        if self._choose_in is not None:
            info = await choose_session(self, self._choose_in)
            if info is None:
                self.quit()
                return
            chosen = Path(info.path)
        try:
            runtime = await self._open_runtime(partial(ask_trust, self), chosen)
        except Exception as error:
            self.failure = error
            self.quit(1)
            return
        self._runtime = runtime
        runtime.subscribe(self.progress.on_event)
        runtime.on_failure = self._on_failure
        runtime.on_shutdown = self.quit_when_idle
        runtime.bind(ScreenUI(self))
        runtime.hooks.on(SESSION_SHUTDOWN, self._on_session_end, owner=self, rank=_LAST)
        runtime.hooks.on(SESSION_START, self._on_session_start, owner=self, rank=_FIRST)
        self.take_on_services()
        self._take_on_renderers()
        await self.show_head()
        self.take_on_session()
        if text := news(runtime.services):
            self.presenter.markdown(text)
        if runtime.session.model is None:
            self.start(self._tell_of_models())
        await runtime.start()
        self.started = True
        for prompt in self._make_prompts(runtime):
            await self.submission.send(prompt)

    # -------------------------------------------------------------------------------------------------- what is open

    def take_on_services(self) -> None:
        """Use the settings, keys and themes of the runtime's services, which have changed."""
        services = self._shown = self.runtime.services
        settings, view = services.settings, self.app.transcript_view
        self.keymap = self.editor.keymap = Keymap(services.keybindings.keys)
        self.editor.padding = settings.editor_padding_x
        self.editor.menu_rows = settings.autocomplete_max_visible
        view.scrollbar = settings.fullscreen_scrollbar
        view.wheel_rows = settings.fullscreen_wheel_scroll_lines or WHEEL_ROWS
        look = self.presenter.look
        look.hide_thinking, look.cwd, look.home = (
            settings.hide_thinking_block,
            str(services.cwd),
            str(services.options.home),
        )
        self.use_theme(settings.theme)
        view.set_frame(
            padding=settings.output_pad,
            hyperlinks=self.looks.caps.hyperlinks,
            code_indent=settings.code_block_indent,
            expand_key=self.keymap.label("app.tools.expand"),
        )
        self.refresh()

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
        if isinstance(view := self.app.transcript_view, TailView):
            view.palette = self.looks.palette
        self.surface.recolor()
        self.presenter.recolor()

    async def show_head(self) -> None:
        """Put header and resources at the head of the transcript."""
        services = self.runtime.services
        quiet = services.settings.quiet_startup if not services.options.verbose else False
        finder = services.prompt_parts().context_files
        files = [] if quiet or finder is None else await finder()  # type: ignore[misc]
        resources = [] if quiet else resource_blocks(services, files)
        self.head = [] if quiet is True else [header_block(lambda: self.keymap), *resources]
        if not self.surface.has("header"):
            self.presenter.set_head(self.head)

    async def _tell_of_models(self) -> None:
        """Say how to get a model, when there is none."""
        self.presenter.warn("No model can be used yet: /login stores credentials of a provider")
        servers = await unconfigured_servers(self.runtime.options)
        if servers:
            self.presenter.status(how_to_use(servers))

    def tell_notices(self) -> None:
        """Show what the user should know and was not told yet."""
        services = self.runtime.services
        for notice in (*self._notices, *services.notices, *services.keybindings.notices):
            if notice not in self._told:
                self._told.add(notice)
                self.presenter.warn(notice)

    def take_on_session(self) -> None:
        """Show the session of the runtime, which is another one or stands at another place."""
        session = self.runtime.session
        messages = session.harness.agent.messages
        self.progress.forget()
        self._showing = True
        self.presenter.show_session(messages)
        self.editor.buffer.history = prompts_of(messages)
        compactions = sum(head.type == "compaction" for head in session.session.path_heads())
        if compactions:
            self.presenter.status(f"Session compacted {compactions} time{'s' if compactions > 1 else ''}")
        self.tell_notices()
        self.refresh()

    def _take_on_renderers(self) -> None:
        """Let the extensions of the session draw what is theirs."""
        extensions, look = self.runtime.extensions, self.presenter.look
        look.custom = renderers = Renderers(extensions, self.surface)
        look.renderers = ToolRenderers(renderers, extensions, self.surface)

    async def replacing(self, work: Awaitable[T]) -> T:
        """Await what may replace the session, and show the one that is open then."""
        before = self.runtime.session
        self.runtime.session.check_idle("leave the session")
        result = await work
        if self.runtime.session is not before:
            if self.runtime.services is not self._shown:  # handlers of the session's start have found more
                self.take_on_services()
                await self.show_head()
            self.refresh()
        return result

    def _on_session_end(self, event: SessionShutdown) -> None:
        """The extensions are about to go: so does what they show."""
        self.surface.clear()
        self.statuses.clear()
        self._given_title = ""
        self.app.editor_area.sources = sources(self)
        self.progress.activity.reset()
        self.presenter.set_thinking_label(THINKING_LABEL)

    async def _on_session_start(self, event: SessionStart) -> None:
        """Show a session before extensions hear of it: what they show then is to stay."""
        if event.reason == "startup":
            return
        if self.runtime.services is not self._shown:
            self.take_on_services()
            await self.show_head()
        self._take_on_renderers()
        if event.reason != "reload":
            self.take_on_session()

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
        view = self.app.transcript_view
        if isinstance(view, TailView):
            lines = view.rest()
        elif self.runtime.services.settings.fullscreen_exit_output == "transcript":
            lines = last_lines(self.presenter.transcript)
        else:
            lines = []
        session = self.runtime.session.session
        return farewell(lines, session, self.looks.palette, links=self.looks.caps.hyperlinks)

    def quit_when_idle(self) -> None:
        """Leave when nothing is under way any more."""
        if self.runtime.session.is_streaming:
            self.progress.when_settled(self.quit)
        else:
            self.quit()

    def _on_failure(self, failure: HookFailure) -> None:
        """Tell that a handler failed, or took long."""
        if failure.error is not None:
            self.presenter.error(f"Extension error ({failure.owner}): {failure.hook}: {failure.error}")
        elif self.runtime.options.verbose:
            self.presenter.warn(f"Slow extension ({failure.owner}): {failure.hook}: {failure.seconds:.1f} s")

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
                self.keys.scroll(key)
            self.app.redraw_panel()
        elif not self.surface.edit(key):
            self.edit(key)
        elif self.surface.has("editor"):
            self.app.editor_area.redraw()

    def edit(self, key: Key) -> bool:
        """Do what `key` means to the program, else to the editor; return whether it meant something."""
        if self.keys.handle(key):
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
        return self._showing and self.presenter.is_finished(block)

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
        if self.looks.hear(sequence) and self.ready:
            self.use_theme(self.runtime.services.settings.theme)

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

    def widgets_above(self, width: int) -> Sequence[Line]:
        return self.surface.widget_lines("above_editor", width)

    def widgets_below(self, width: int) -> Sequence[Line]:
        return self.surface.widget_lines("below_editor", width)

    def footer_lines(self, width: int) -> Sequence[Line]:
        if not self.ready:
            return ()
        own = self.surface.slot_lines("footer", width)
        if own is not None:
            return own
        return footer_lines(self.footer.view(self.runtime.session), width, self.statuses)
