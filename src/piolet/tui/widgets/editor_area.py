"""The editor on the screen: rules with the spinner and what is out of sight, the text, the list of suggestions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Offset, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from piolet.tui.blocks.rules import more, rule
from piolet.tui.completion import Request, Sources, complete
from piolet.tui.editor import MIN_ROWS, Editor, EditorView
from piolet.tui.keys import Key
from piolet.tui.spans import BLANK, Color, Line
from piolet.tui.widgets.key_events import key_of
from piolet.tui.widgets.strips import StripMaker

MAX_SHARE = 0.3  # of the screen that the text may take
MENTION_SECONDS = 0.02  # a search for files waits for the next key this long


class EditorArea(Widget):
    """Shows an `Editor`, hands it keys and pastes, and fetches its suggestions.

    `first_look` sees every key before the editor; what it takes (returns True) ends there. Keys that mean nothing to
    the editor go on to the widgets around.
    """

    DEFAULT_CSS = """
    EditorArea { height: auto; width: 1fr; }
    """
    ALLOW_SELECT = False
    can_focus = True

    class Submitted(Message):
        """The user wants to send the text, which is still in the editor."""

    class Changed(Message):
        """The text is another."""

    def __init__(
        self,
        editor: Editor,
        strips: StripMaker,
        *,
        sources: Sources | None = None,
        first_look: Callable[[Key], bool] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.auto_links = False
        self.editor = editor
        self.use_sources(sources)
        #: What is told of a source that fails in another way than by a missing folder.
        self.failed: Callable[[Exception], object] = lambda error: None
        self.first_look = first_look
        #: How many rows there are for it; by default those of the screen.
        self.room: Callable[[], int] = lambda: self.screen.size.height
        self.rule_color: Color = "thinkingOff"
        self.busy: Line = BLANK
        self.draw_instead: Callable[[int], Sequence[Line] | None] = lambda width: None
        self._strips = strips
        self._lines: list[Line] = []
        self._cursor = (0, 0)
        self._text = ""
        self._due = False
        self._completing: asyncio.Task[None] | None = None
        self._asked: Request | None = None

    def use_sources(self, sources: Sources | None) -> None:
        """Complete from there from now on."""
        self.sources = sources
        self.editor.triggers = tuple(sources.triggers) if sources is not None else ()

    @property
    def rows(self) -> int:
        """How many lines it shows."""
        return len(self._lines)

    def set_strips(self, strips: StripMaker) -> None:
        """Use another theme."""
        self._strips = strips
        self.refresh()

    def set_busy(self, busy: Line) -> None:
        """Show what is being done in the upper rule; blank: nothing."""
        if busy != self.busy:
            self.busy = busy
            self.redraw()

    def redraw(self) -> None:
        """Draw the editor as it is now; the layout is done anew only if its height has changed."""
        if not self.is_attached or not self.size.width:
            return
        before, self._lines = self._lines, self._draw(self.size.width)
        if len(before) != len(self._lines):
            self.refresh(layout=True)
        elif before != self._lines:
            self.refresh()
        self._place_cursor()

    def _draw(self, width: int) -> list[Line]:
        own = self.draw_instead(width)
        return self.own_lines(width) if own is None else list(own[: self.room()])

    def own_lines(self, width: int) -> list[Line]:
        """Return the editor as it is drawn if nobody else draws it."""
        view = self._view(width)
        color = "bashMode" if self.editor.buffer.text.startswith("!") else self.rule_color
        self._cursor = (view.cursor[0], view.cursor[1] + 1)
        return [
            rule(width, color, self.busy, more(view.above, above=True)),
            *view.lines,
            rule(width, color, BLANK, more(view.below, above=False)),
            *self.editor.menu_lines(width, self.room() - 2 - len(view.lines)),
        ]

    def _view(self, width: int) -> EditorView:
        rows = max(MIN_ROWS, int(self.screen.size.height * MAX_SHARE))
        return self.editor.view(width, max(1, min(rows, self.room() - 2)))

    def _place_cursor(self) -> None:
        """Put the terminal's cursor where ours is: input methods open their window there."""
        if self.has_focus:
            origin = self.content_region.offset
            self.app.cursor_position = Offset(origin.x + self._cursor[0], origin.y + self._cursor[1])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self.size.width or not self._lines:
            self._lines = self._draw(width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        return self._strips.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self.redraw()

    def on_focus(self, event: events.Focus) -> None:
        self._place_cursor()

    # -------------------------------------------------------------------------------------------------------- input

    def on_key(self, event: events.Key) -> None:
        key = key_of(event)
        if self.first_look is not None and self.first_look(key):
            event.stop()
            event.prevent_default()
            return
        outcome = self.editor.handle(key)
        if outcome == "ignored":
            return
        event.stop()
        event.prevent_default()
        self.update()
        if outcome == "submit":
            self.post_message(self.Submitted())

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.editor.paste(event.text)
        self.update()

    def update(self) -> None:
        """The editor has changed: when all keys that wait are in it is drawn, suggestions are fetched, others told."""
        if not self._due and self.is_attached:
            self._due = True
            self.app.call_later(self._take_in)

    def _take_in(self) -> None:
        self._due = False
        self._fetch()
        self.redraw()
        if self.editor.buffer.text != self._text:
            self._text = self.editor.buffer.text
            self.post_message(self.Changed())

    def _fetch(self) -> None:
        wanted = self.editor.wanted
        if wanted == self._asked:
            return
        self._asked = wanted
        if self._completing is not None:
            self._completing.cancel()
            self._completing = None
        if wanted is not None and self.sources is not None:
            self._completing = asyncio.create_task(self._complete(wanted, self.sources))

    async def _complete(self, request: Request, sources: Sources) -> None:
        if request.kind == "mention":
            await asyncio.sleep(MENTION_SECONDS)
        try:
            suggestions = await complete(request, sources)
        except OSError:
            return  # a folder that is not there completes to nothing
        except Exception as error:
            self.failed(error)
            return
        self.editor.offer(request, suggestions)
        self._asked = self.editor.wanted
        self.update()
