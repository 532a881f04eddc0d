"""The screen: regions below each other on the toolkit, and nothing that decides anything.

Keys, pastes, clicks and the terminal's reports go to the `Face`; what it says is drawn here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Region
from textual.screen import Screen

from piolet.modes.interactive.overlays import Overlays
from piolet.modes.interactive.tool_block import ToolBlock
from piolet.tui.ansi import AnsiWriter
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.editor import Editor
from piolet.tui.panels.panel import Panel
from piolet.tui.pictures import Album
from piolet.tui.scrollback import Scrollback
from piolet.tui.spans import Line
from piolet.tui.transcript import Transcript, TranscriptBlock
from piolet.tui.widgets.driver import TerminalDriver, TerminalGone, TerminalReport
from piolet.tui.widgets.editor_area import EditorArea
from piolet.tui.widgets.inline import InlineApp, InlineDriver, InlineScreen
from piolet.tui.widgets.key_events import key_of
from piolet.tui.widgets.lines_view import LinesView
from piolet.tui.widgets.panel_view import PanelView
from piolet.tui.widgets.picture_layer import PictureLayer
from piolet.tui.widgets.strips import StripMaker
from piolet.tui.widgets.tail_view import TailView
from piolet.tui.widgets.transcript_view import TranscriptView

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face
    from piolet.modes.interactive.streams import Streams


#: Rows that queue and widgets leave: for the editor or a panel, the footer, and the end of the transcript.
LEAST_ROWS = 8
#: Those of them that are the footer's.
FOOTER_ROWS = 3


class MainScreen(InlineScreen, inherit_bindings=False):
    """The only screen; the toolkit's own keys are not wanted."""

    ALLOW_SELECT = False


class InteractiveApp(InlineApp, inherit_bindings=False):
    """Shows transcript, queue, widgets of extensions, the editor or a panel, and the footer."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; overflow: hidden; layers: base overlay; }
    #input { height: auto; }
    Screen:inline { height: auto; border: none; }
    """
    ENABLE_COMMAND_PALETTE = False
    INLINE_PADDING = 0
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        face: Face,
        editor: Editor,
        strips: StripMaker,
        streams: Streams | None = None,
        *,
        regular: bool = False,
    ) -> None:
        """Without `streams` there is no terminal, as in tests. `regular`: the app lives below what was printed."""
        self.terminal = None if streams is None else streams.terminal
        super().__init__(
            regular=regular,
            driver_class=None if streams is None else InlineDriver,
            ansi_color=True,
        )
        # Our lines bring the colours that the terminal can show; a guess of the toolkit would only spoil them.
        self.console = Console(color_system="truecolor", force_terminal=True, file=self.console.file)
        self.animation_level = "none"  # what moves here is our own, and can be switched off
        self._streams = streams
        if streams is not None:  # the toolkit would swallow what is printed; the streams show it
            self._capture_stdout, self._capture_stderr = sys.stdout, sys.stderr  # type: ignore[assignment]
        self.face = face
        self.failure: Exception | None = None
        self.strips = strips
        self.transcript = Transcript(Frame(80), 24)
        self.scrollback = Scrollback(marks=not face.looks.caps.dumb)
        self.album = Album()
        self.pictures = PictureLayer(
            self.album, self._show_pictures, lambda picture: face.presenter.picture_changed(picture)
        )
        self.transcript_view = self._make_view()
        self.pending_view = LinesView(face.progress.pending_lines, strips, id="pending")
        self.above_view = LinesView(face.widgets_above, strips, id="above")
        self.editor_area = EditorArea(editor, strips, id="editor")
        self.below_view = LinesView(face.widgets_below, strips, id="below")
        self.footer_view = LinesView(face.footer_lines, strips, id="footer")
        self.editor_area.room = self.room
        for view in self._varying:
            view.room = partial(self._room_of, view)
        self.footer_view.room = self._room_of_footer
        self._panels: list[PanelView] = []
        self.overlays = Overlays(self)
        self._lent = False

    def _make_view(self) -> TranscriptView:
        view = (
            self._tail_view()
            if self.regular
            else TranscriptView(self.strips, transcript=self.transcript, id="transcript")
        )
        view.with_paint = self.face.progress.draw
        return view

    def _tail_view(self) -> TailView:
        return TailView(
            self.strips,
            self.scrollback,
            finished=self.face.is_finished,
            ready=self.has_pictures,
            print_above=self.print_lines,
            room=self._tail_room,
            transcript=self.transcript,
        )

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield self.transcript_view
        yield self.pending_view
        yield self.above_view
        with Vertical(id="input"):
            yield self.editor_area
        yield self.below_view
        yield self.footer_view

    def on_mount(self) -> None:
        self.editor_area.focus()
        self.call_after_refresh(self.face.begin)

    # --------------------------------------------------------------------------------------------------- what is drawn

    def redraw(self) -> None:
        """Draw again what stands around the transcript."""
        for view in (self.pending_view, self.above_view, self.below_view, self.footer_view):
            view.redraw()
        self.editor_area.redraw()

    def set_strips(self, strips: StripMaker) -> None:
        """Use other colours everywhere."""
        self.strips = strips
        self.transcript_view.set_strips(strips)
        self.editor_area.set_strips(strips)
        for view in (self.pending_view, self.above_view, self.below_view, self.footer_view):
            view.set_strips(strips)
        for panel in self._panels:
            panel.set_strips(strips)
        self.overlays.set_strips(strips)

    def room(self) -> int:
        """Return the rows that the editor or a panel may take: what the others leave, but a row of the transcript."""
        return max(3, self.size.height - 1 - self._rows_around())

    @property
    def _varying(self) -> tuple[LinesView, ...]:
        """What may have many lines; the editor is seen all the same."""
        return self.pending_view, self.above_view, self.below_view

    def _room_of(self, view: LinesView) -> int:
        others = sum(other.rows for other in self._varying if other is not view)
        return self.size.height - LEAST_ROWS - others - max(0, self.footer_view.rows - FOOTER_ROWS)

    def _room_of_footer(self) -> int:
        return max(FOOTER_ROWS, self.size.height - LEAST_ROWS + FOOTER_ROWS - sum(view.rows for view in self._varying))

    def _rows_around(self) -> int:
        return sum(view.rows for view in (self.pending_view, self.above_view, self.below_view, self.footer_view))

    def _tail_room(self) -> int:
        """Return the rows that are left for the transcript in regular mode."""
        top = self._panels[-1] if self._panels else self.editor_area
        return max(0, self.size.height - self._rows_around() - top.rows)

    def print_lines(self, lines: Sequence[Line]) -> None:
        """Put lines into the terminal's scrollback, above everything that is drawn."""
        writer = AnsiWriter(self.strips.palette, links=self.strips.hyperlinks)
        self.print_above(self.pictures.over(writer.lines(lines), lines, self.size.height))

    def has_pictures(self, block: TranscriptBlock) -> bool:
        """Whether the pictures of a block are drawn, as far as they can be."""
        if not isinstance(block, DrawnBlock | ToolBlock) or not block.pictures:
            return True
        return self.pictures.has_all(block.lines(self.transcript.frame))

    def paint_over(self, written: Container[int]) -> str:
        """Return what draws the pictures that are in sight, and nothing floats over."""
        if not self.pictures.active:
            return ""
        regions = self.overlays.regions
        shown = {
            y: (x, row)
            for y, (x, row) in self.transcript_view.pictures.items()
            if not any(region.overlaps(Region(x, y, row.columns, 1)) for region in regions)
        }
        return self.pictures.paint(shown, written)

    def erase_over(self) -> str:
        return self.pictures.erase()

    def _show_pictures(self) -> None:
        """Some pictures can be drawn that could not before."""
        self.transcript_view.paint()
        self.transcript_view.refresh()

    def set_mode(self, *, regular: bool) -> None:
        """Show the transcript on a screen of its own, or in the terminal's scrollback."""
        before = self.transcript_view
        before.display = False  # it takes the whole screen until it is gone
        self.set_regular(regular)
        self.transcript.to_end()
        self.transcript_view = self._make_view()
        before.remove()
        self.screen.mount(self.transcript_view, before=self.pending_view)

    def canvas_rows(self) -> int:
        """Return the rows that are drawn on."""
        if not self.regular:
            return self.size.height
        top = self._panels[-1] if self._panels else self.editor_area
        return min(self.size.height, self._rows_around() + top.rows + self.transcript_view.rows)

    def make_room(self) -> None:
        """Let overlays have their rows in regular mode, where only so many are drawn on as are needed."""
        if isinstance(view := self.transcript_view, TailView):
            view.set_least(min(self.overlays.rows, self._tail_room()))

    @property
    def panel(self) -> Panel | None:
        """What has the keys in place of the editor."""
        if self.overlays.panel is not None:
            return self.overlays.panel
        return self._panels[-1].panel if self._panels else None

    def show_cursor(self, shown: bool) -> None:
        """Show the terminal's own cursor, or hide it again."""
        self.cursor_shown = shown
        self.write("\x1b[?25h" if shown else "\x1b[?25l")

    def redraw_panel(self) -> None:
        """Draw again what stands in place of the editor or over it."""
        if self._panels:
            self._panels[-1].redraw()
        if self.overlays:
            self.overlays.redraw()

    @property
    def cell(self) -> tuple[int, int] | None:
        """Width and height in pixels of a cell, if the system knows them."""
        return self._driver.cell if isinstance(self._driver, TerminalDriver) else None

    def write(self, sequence: str) -> None:
        """Tell the terminal something beside the screen."""
        if self._driver is not None and not self.is_headless and not self._lent:
            self._driver.write(sequence)

    def tell_status(self, report: str) -> None:
        """Tell the terminal what the program does. Where it wants to know that, a mark of a prompt would say that the
        program has ended."""
        self.scrollback.marks = False
        if isinstance(self._driver, TerminalDriver):
            self._driver.tell_status(report)

    @contextmanager
    def lending(self) -> Iterator[None]:
        """Give the terminal to another program meanwhile; nothing is drawn."""
        if self._streams is None:
            yield
            return
        failure: BaseException | None = None
        with self.batch_update(), self.suspend(), self._streams.lent():
            self._lent = True
            try:
                yield
            except BaseException as error:  # the toolkit would not take the terminal back
                failure = error
            finally:
                self._lent = False
        if failure is not None:
            raise failure

    def restore_terminal(self) -> None:
        """Give the terminal back at once; the process is about to end."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.restore_now()

    def fail(self, error: Exception) -> None:
        """End because of a fault."""
        self._handle_exception(error)

    def every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call again and again; return a function that ends it."""
        with self._context():  # whoever calls may come from another thread
            return self.set_interval(seconds, call).stop

    # ---------------------------------------------------------------------------------------------------------- panels

    def push_panel(self, panel: Panel) -> None:
        """Show `panel` in place of the editor and of the panel that was there."""
        for view in (*self._panels, self.editor_area):
            view.display = False
        view = PanelView(panel, self.strips)
        view.room = self.room
        self._panels.append(view)
        self.query_one("#input").mount(view)
        view.focus()

    def pop_panel(self, panel: Panel) -> None:
        """Take `panel` away; what was beneath it is shown again."""
        for view in [view for view in self._panels if view.panel is panel]:
            self._panels.remove(view)
            if view.is_attached:
                view.remove()
        top = self._panels[-1] if self._panels else self.editor_area
        if self.is_running and top.is_attached:
            top.display = True
            top.focus()

    # ---------------------------------------------------------------------------------------------------------- events

    async def on_event(self, event: events.Event) -> None:
        """Keys and pastes do not go through the queues of widgets: what one key changes counts for the next."""
        match event:
            case events.Key():
                self.face.on_key(key_of(event))
            case events.Paste():
                self.face.on_paste(event.text)
            case _:
                await super().on_event(event)

    def on_resize(self, event: events.Resize) -> None:
        for view in (*self._varying, self.footer_view):
            self.call_after_refresh(view.redraw)
        self.face.on_resize()
        if self.overlays:
            self.call_after_refresh(self.overlays.redraw)

    def on_transcript_view_clicked(self, message: TranscriptView.Clicked) -> None:
        self.face.on_click(message.block)

    def on_transcript_view_selected(self, message: TranscriptView.Selected) -> None:
        self.face.on_select(message.text)

    def on_terminal_report(self, message: TerminalReport) -> None:
        self.face.on_report(message.sequence)

    def on_terminal_gone(self, message: TerminalGone) -> None:
        self.face.quit(129)

    def _handle_exception(self, error: Exception) -> None:
        """The toolkit would print a traceback; who runs the app is told instead."""
        self.failure = self.failure or error
        if self.is_headless:
            super()._handle_exception(error)
        else:
            self._return_code = 1
            self._close_messages_no_wait()
