"""The transcript on the screen: one widget for all blocks, which repaints only the rows that differ."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.blocks.frame import Frame
from piolet.tui.picture_painter import PictureRows
from piolet.tui.spans import BLANK, Line, Style, line_width, overlay, picture_in, row
from piolet.tui.transcript import Place, Transcript, TranscriptBlock, VisibleRow
from piolet.tui.transcript_marks import Selection, mark_found
from piolet.tui.widgets.strips import StripMaker

ScrollbarMode: TypeAlias = Literal["auto", "always", "hidden"]

FRAME_SECONDS = 0.05  # what changes more often is painted this often
WHEEL_ROWS = 3  # of a step of the wheel, unless `wheel_rows` says otherwise

_TRACK, _THUMB = Style("scrollbarTrack"), Style("scrollbarThumb")
_PILL = Style("text", "selectedBg")


class TranscriptView(Widget):
    """Shows a `Transcript`. Whoever changes that calls `paint` (now) or `paint_soon` (with what else changes)."""

    DEFAULT_CSS = """
    TranscriptView { height: 1fr; width: 1fr; }
    """
    ALLOW_SELECT = False  # it selects by itself, over rows that are out of sight too
    can_focus = False

    class Clicked(Message):
        """A block was clicked."""

        def __init__(self, block: TranscriptBlock, place: Place) -> None:
            super().__init__()
            self.block, self.place = block, place

    class Selected(Message):
        """Text was selected with the mouse."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        strips: StripMaker,
        *,
        frame: Frame | None = None,
        transcript: Transcript | None = None,
        scrollbar: ScrollbarMode = "auto",
        bottom_key: str = "Ctrl+End",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.auto_links = False
        self.transcript = transcript or Transcript(frame or Frame(80), 24)
        self.scrollbar: ScrollbarMode = scrollbar
        self.wheel_rows = WHEEL_ROWS
        self.selection: Selection | None = None
        self._strips = strips
        self._bottom_key = bottom_key
        self._query = ""
        self._found: Place | None = None
        self._lines: list[Line] = []
        self._visible: list[VisibleRow] = []
        #: Draws what changes in the same frames.
        self.with_paint: Callable[[], object] = lambda: None
        self._painted = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._dragging = False
        self._on_thumb = False

    # ---------------------------------------------------------------------------------------------------- content

    def add(self, block: TranscriptBlock) -> None:
        """Put a block at the end."""
        self.transcript.add(block)
        self.paint_soon()

    def changed(self, block: TranscriptBlock) -> None:
        """Take note that a block has other lines now."""
        self.transcript.changed(block)
        self.paint_soon()

    def set_frame(self, **changes: object) -> None:
        """Draw all blocks in another frame: `expanded`, `padding`, ..."""
        self.transcript.resize(replace(self.transcript.frame, **changes), self.transcript.height)  # type: ignore[arg-type]
        self.paint()

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        self._strips = strips
        self.refresh()

    # ------------------------------------------------------------------------------------------------------ moving

    def scroll_rows(self, count: int) -> None:
        """Move the window `count` rows down (negative: up)."""
        self.transcript.scroll(count)
        self.paint()

    def scroll_pages(self, share: float) -> None:
        """Move the window by a share of its height."""
        rows = round(abs(share) * max(1, self.transcript.height - 1)) or 1
        self.scroll_rows(rows if share > 0 else -rows)

    def to_end(self) -> None:
        self.transcript.to_end()
        self.paint()

    def to_start(self) -> None:
        self.transcript.to_start()
        self.paint()

    def jump_to_prompt(self, direction: int) -> None:
        """Show the next (1) or previous (-1) message of the user; behind the last one, the end."""
        if not self.transcript.jump_to_prompt(direction) and direction > 0:
            self.transcript.to_end()
        self.paint()

    # ------------------------------------------------------------------------------------------------------ search

    def search(self, query: str) -> bool:
        """Mark the places of `query` and go to the last one above the end of the window; return whether there is one.
        An empty query ends the search."""
        self._query = query
        self._found = None
        return self.search_next(-1) if query else self._end_search()

    def search_next(self, direction: int) -> bool:
        """Go to the next (1) or previous (-1) place; return whether there is one."""
        if not self._query:
            return False
        query = self._query.lower()
        start = self._found or (self._visible[-1].place if self._visible else Place(0, 0))
        if self._found is None and direction < 0:
            start = replace(start, row=start.row + 1)
        self._found = next(self.transcript.find(lambda text: query in text.lower(), start, direction), None)
        if self._found is not None:
            self.transcript.reveal(self._found)
        self.paint()
        return self._found is not None

    def _end_search(self) -> bool:
        self.paint()
        return False

    # ---------------------------------------------------------------------------------------------------- painting

    @property
    def paints_soon(self) -> bool:
        """Whether it will be painted within a frame."""
        return self._timer is not None

    def paint_soon(self) -> None:
        """Paint within a frame, with whatever else changes until then."""
        if self._timer is None and self.is_attached:
            wait = FRAME_SECONDS - (time.monotonic() - self._painted)
            if wait > 0.001:  # a timer of the toolkit would not go off if its context were that of another thread
                self._timer = asyncio.get_running_loop().call_later(wait, self.call_next, self.paint)
            else:
                self.paint()

    def paint(self) -> None:
        """Paint the rows that differ from those on the screen."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._painted = time.monotonic()
        self.with_paint()
        before, self._lines = self._lines, self._compose_lines()
        if len(before) != len(self._lines):
            self.refresh()
            return
        differing = [y for y, (old, new) in enumerate(zip(before, self._lines, strict=True)) if old != new]
        if differing:
            first, last = differing[0], differing[-1]
            self.refresh(Region(0, first, self.size.width, last - first + 1))

    @property
    def rows(self) -> int:
        """How many lines it shows."""
        return len(self._lines)

    @property
    def pictures(self) -> PictureRows:
        """The rows of pictures that are in sight, by the rows of the screen."""
        left, top = self.region.offset
        rows = self._visible if self.transcript.following else self._visible[:-1]  # the pill is over the last one
        found = ((top + y, picture_in(row.line)) for y, row in enumerate(rows))
        return {y: (left + at[0], at[1]) for y, at in found if at is not None}

    def _compose_lines(self) -> list[Line]:
        """Return a line for each row of the widget, with marks, pill and scrollbar."""
        width, height = self.size
        inner = self._inner_width
        transcript = self.transcript
        if height and (inner, height) != (transcript.frame.width, transcript.height):
            transcript.resize(replace(transcript.frame, width=inner), height)
        self._visible = self.transcript.visible()
        lines = [self._marked(row) for row in self._visible]
        lines += [BLANK] * (height - len(lines))
        if not self.transcript.following and height:
            pill = row(f" ↓ Jump to latest message · {self._bottom_key} ", _PILL)
            if line_width(pill) <= inner:
                lines[-1] = overlay(lines[-1], (inner - line_width(pill)) // 2, pill, inner)
        bar = self._bar() if inner < width else None
        if bar is None:
            return lines
        return [overlay(line, inner, bar[y], width) for y, line in enumerate(lines)]

    def _marked(self, visible: VisibleRow) -> Line:
        line = visible.line
        if self._query:
            line = mark_found(line, self._query, current=visible.place == self._found)
        return self.selection.mark(line, visible.place) if self.selection is not None else line

    @property
    def _inner_width(self) -> int:
        width = self.size.width
        return width if self.scrollbar == "hidden" or width < 2 else width - 1

    def _bar(self) -> list[Line] | None:
        """Return the cells of the scrollbar; None while none is shown."""
        if self.scrollbar == "auto" and self.transcript.following:
            return None
        thumb = self.transcript.thumb()
        if thumb is None:
            return None
        start, size = thumb
        rows = range(self.size.height)
        return [row("┃", _THUMB) if start <= y < start + size else row("│", _TRACK) for y in rows]

    def render_line(self, y: int) -> Strip:
        return self._strips.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self._lines = self._compose_lines()
        self.refresh()

    # ------------------------------------------------------------------------------------------------------- mouse

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-self.wheel_rows)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(self.wheel_rows)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self.capture_mouse()
        self._dragging = True
        self._on_thumb = event.x >= self._inner_width and self._bar() is not None
        if self._on_thumb:
            self._drag_thumb(event.y)
        elif (place := self._place_at(event.y)) is not None:
            self.selection = Selection((place, event.x), (place, event.x))
        else:
            self.selection = None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if not self._dragging:
            return
        if self._on_thumb:
            self._drag_thumb(event.y)
            return
        if event.y < 0 or event.y >= self.size.height:
            self.transcript.scroll(-1 if event.y < 0 else 1)
        place = self._place_at(max(0, min(event.y, self.size.height - 1)))
        if self.selection is not None and place is not None:
            self.selection = self.selection.moved(place, max(0, event.x))
        self.paint()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if not self._dragging:
            return
        self._dragging = False
        self.release_mouse()
        selection = self.selection
        if self._on_thumb or selection is None:
            return
        if selection.empty:
            self.selection = None
            self.paint()
            self._click(event.y)
        elif text := selection.text(self.transcript):
            self.post_message(self.Selected(text))

    def clear_selection(self) -> None:
        """Forget what is selected."""
        if self.selection is not None:
            self.selection = None
            self.paint()

    def _click(self, y: int) -> None:
        if not self.transcript.following and y == self.size.height - 1:
            self.to_end()
        elif (place := self._place_at(y)) is not None:
            self.post_message(self.Clicked(self.transcript.blocks[place.block], place))

    def _drag_thumb(self, y: int) -> None:
        self.transcript.scroll_to_share(max(0, y) / max(1, self.size.height - 1))
        self.paint()

    def _place_at(self, y: int) -> Place | None:
        return self._visible[y].place if 0 <= y < len(self._visible) else None
