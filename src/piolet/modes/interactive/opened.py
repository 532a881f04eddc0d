"""What is open, brought onto the screen: the services of the folder, the session, what extensions draw."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from piolet.app.extensions.errors import QuestionEnded
from piolet.app.hook_points import SESSION_SHUTDOWN, SESSION_START, SessionShutdown, SessionStart
from piolet.app.prompt import PromptRejected
from piolet.app.renderers.by_extensions import Renderers, ToolRenderers
from piolet.app.services import Services
from piolet.harness.hooks import HookFailure
from piolet.harness.session.context import messages_of
from piolet.harness.session.entries import CustomEntry
from piolet.modes.interactive.history import prompts_of
from piolet.modes.interactive.sources import sources
from piolet.modes.interactive.startup import header_block, resource_blocks
from piolet.tui.blocks.messages import THINKING_LABEL
from piolet.tui.keymap import Keymap
from piolet.tui.transcript import TranscriptBlock
from piolet.tui.widgets.transcript_view import WHEEL_ROWS

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

T = TypeVar("T")

_FIRST, _LAST = -1_000_000, 1_000_000  # before and after the handlers of all extensions


class Opened:
    """Follows the runtime: whatever it opens is shown."""

    def __init__(self, face: Face) -> None:
        self._face = face
        #: Header and resources, also while an extension shows a header of its own.
        self.head: list[TranscriptBlock] = []
        self.showing = False  # the blocks of the session are those of the transcript
        self._shown: Services | None = None  # the services that are taken on
        self._notices: list[str] = []
        self._told: set[str] = set()

    async def begin(self, notices: Iterable[str]) -> None:
        """Show what is open, with `notices`, and follow the runtime from now on."""
        face, runtime = self._face, self._face.runtime
        self._notices = list(notices)
        runtime.subscribe(face.progress.on_event)
        runtime.on_failure = self._on_failure
        runtime.on_shutdown = face.quit_when_idle
        runtime.hooks.on(SESSION_SHUTDOWN, self._on_session_end, owner=self, rank=_LAST)
        runtime.hooks.on(SESSION_START, self._on_session_start, owner=self, rank=_FIRST)
        self.show_services()
        self._take_on_renderers()
        await self.show_head()
        self.show_session()

    async def replacing(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do what replaces the session, unless something is under way. Raises `PromptRejected`."""
        face, before = self._face, self._face.runtime.session
        self.check_idle("leave the session")
        result = await work()
        if face.runtime.session is not before:
            if face.runtime.services is not self._shown:  # handlers of the session's start have found more
                self.show_services()
                await self.show_head()
            face.refresh()
        return result

    def check_idle(self, wanted: str) -> None:
        """Raise `PromptRejected`, which says how to stop it, if something is under way that `wanted` would disturb."""
        try:
            self._face.runtime.session.check_idle(wanted)
        except PromptRejected as error:
            key = self._face.keymap.label("app.interrupt")
            raise PromptRejected(f"{error} ({key} stops it)" if key else str(error)) from None

    # ---------------------------------------------------------------------------------------------------- showing it

    def show_services(self) -> None:
        """Use the settings, keys and themes of the runtime's services, which have changed."""
        face = self._face
        services = self._shown = face.runtime.services
        settings, view, look = services.settings, face.app.transcript_view, face.presenter.look
        face.keymap = face.editor.keymap = Keymap(services.keybindings.keys)
        face.editor.padding = settings.editor_padding_x
        face.editor.menu_rows = settings.autocomplete_max_visible
        view.scrollbar = settings.fullscreen_scrollbar
        view.wheel_rows = settings.fullscreen_wheel_scroll_lines or WHEEL_ROWS
        look.cwd, look.home = str(services.cwd), str(services.options.home)
        look.hide_thinking = settings.hide_thinking_block
        face.progress.activity.animated = settings.animations
        face.use_theme(face.theme_setting)
        view.set_frame(
            padding=settings.output_pad,
            hyperlinks=face.looks.caps.hyperlinks,
            code_indent=settings.code_block_indent,
            mermaid=settings.mermaid,
            expand_key=face.keymap.label("app.tools.expand"),
            animated=settings.animations,
        )
        self.show_pictures()
        face.app.show_cursor(settings.show_hardware_cursor)
        face.refresh()

    def show_pictures(self) -> None:
        """Draw pictures as the terminal can and the settings say."""
        app, looks = self._face.app, self._face.looks
        app.write(app.pictures.use(looks.caps.images, looks.cell))
        app.transcript_view.set_frame(pictures=looks.picture_room(self._face.runtime.services.settings))
        app.transcript_view.refresh()

    async def show_head(self) -> None:
        """Put header and resources at the head of the transcript."""
        face = self._face
        services = face.runtime.services
        quiet = services.settings.quiet_startup if not services.options.verbose else False
        finder = services.prompt_parts().context_files
        files = [] if quiet or finder is None else await finder()  # type: ignore[misc]
        resources = [] if quiet else resource_blocks(services, files, face.runtime.extensions.extensions)
        self.head = [] if quiet is True else [header_block(lambda: face.keymap), *resources]
        if not face.surface.has("header"):
            face.presenter.set_head(self.head)

    def show_session(self, *, anew: bool = False) -> None:
        """Show the session of the runtime, which is another one or stands at another place; `anew`: the whole of it,
        also what is there already."""
        face = self._face
        session = face.runtime.session
        face.progress.forget()
        self.showing = True
        self.show_messages(anew=anew)
        face.editor.buffer.history = prompts_of(session.harness.agent.messages)
        compactions = sum(head.type == "compaction" for head in session.session.path_heads())
        if compactions:
            face.presenter.status(f"Session compacted {compactions} time{'s' if compactions > 1 else ''}")
        self._tell_notices()
        face.refresh()

    def show_messages(self, *, anew: bool = False) -> None:
        """Show what is in the context now, and what extensions draw between."""
        messages = self._face.runtime.session.harness.agent.messages
        self._face.presenter.show_session(messages, entries=self._custom_entries(), anew=anew)
        if not self._face.runtime.session.is_streaming:
            self._face.presenter.end_calls()

    def _custom_entries(self) -> Mapping[int, Sequence[CustomEntry]]:
        """Return the entries that extensions draw, by the number of the message that they stand before."""
        session, custom = self._face.runtime.session.session, self._face.presenter.look.custom
        found: dict[int, list[CustomEntry]] = {}
        if custom is None or all(head.type != "custom" for head in session.path_heads()):
            return found
        number = 0
        for entry in session.build_context().entries:
            if isinstance(entry, CustomEntry):
                if custom.draws_entries(entry.custom_type):
                    found.setdefault(number, []).append(entry)
            else:
                number += len(messages_of(entry))
        return found

    def _take_on_renderers(self) -> None:
        """Let the extensions of the session draw what is theirs."""
        extensions, look = self._face.runtime.extensions, self._face.presenter.look
        look.custom = renderers = Renderers(extensions, self._face.surface)
        look.renderers = ToolRenderers(renderers, extensions, self._face.surface)

    def _tell_notices(self) -> None:
        """Show what the user should know and was not told yet."""
        services = self._face.runtime.services
        for notice in (*self._notices, *services.notices, *services.keybindings.notices):
            if notice not in self._told:
                self._told.add(notice)
                self._face.presenter.warn(notice)

    # ---------------------------------------------------------------------------------------------------- following

    def _on_session_end(self, event: SessionShutdown) -> None:
        """The extensions are about to go: so does what they show."""
        face = self._face
        face.surface.clear()
        face.statuses.clear()
        face.set_title("")
        face.app.editor_area.use_sources(sources(face))
        face.progress.activity.reset()
        face.presenter.set_thinking_label(THINKING_LABEL)

    async def _on_session_start(self, event: SessionStart) -> None:
        """Show a session before extensions hear of it: what they show then is to stay."""
        if event.reason == "startup":
            return
        if self._face.runtime.services is not self._shown:
            self.show_services()
            await self.show_head()
        self._take_on_renderers()
        if event.reason != "reload":
            self.show_session(anew=event.reason == "resume")

    def _on_failure(self, failure: HookFailure) -> None:
        """Tell that a handler failed, or took long."""
        presenter = self._face.presenter
        if isinstance(failure.error, QuestionEnded):
            return
        if failure.error is not None:
            presenter.error(f"Extension error ({failure.owner}): {failure.hook}: {failure.error}")
        elif self._face.runtime.options.verbose:
            presenter.warn(f"Slow extension ({failure.owner}): {failure.hook}: {failure.seconds:.1f} s")
