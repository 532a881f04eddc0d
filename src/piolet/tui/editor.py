"""The editor: a buffer with keys, a list of suggestions and a view of some rows. It knows no screen and no session.

Suggestions are found elsewhere, maybe slowly: `wanted` tells for what, `offer` brings them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from piolet.tui.buffer import Buffer
from piolet.tui.completion import Request, Suggestion, begins_command, request_at
from piolet.tui.editor_layout import is_marker
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.select_list import Item, SelectList
from piolet.tui.spans import PLAIN, Line, Span, Style, clip, merged

#: What a key did: nothing here, something, or the user wants to send the text (which is still there).
Outcome: TypeAlias = Literal["ignored", "done", "submit"]

MIN_ROWS = 5
_MARKER, _CURSOR = Style("accent"), Style(reverse=True)


@dataclass(frozen=True, slots=True)
class EditorView:
    """Some rows of the text. `cursor`: its column and row in them; `above`, `below`: rows that are out of sight."""

    lines: Sequence[Line]
    cursor: tuple[int, int]
    above: int
    below: int


class Editor:
    """Takes keys, holds text, gives lines."""

    def __init__(
        self,
        keymap: Keymap | None = None,
        *,
        history: Iterable[str] = (),
        padding: int = 0,
        menu_rows: int = 5,
    ) -> None:
        self.keymap = keymap or Keymap()
        self.buffer = Buffer(history=history)
        self.padding = padding
        self.menu: SelectList[Suggestion] | None = None
        self.menu_rows = menu_rows
        self.wanted: Request | None = None
        self.triggers: Iterable[str] = ()  # signs that begin words which extensions complete
        self._forced = False
        self._jump: Literal["", "forward", "backward"] = ""
        self._width = 80
        self._first = 0
        self._shown: Request | None = None  # what the menu was opened for
        self._chosen = False  # the selection in the menu was moved

    # --------------------------------------------------------------------------------------------------------- keys

    def handle(self, key: Key) -> Outcome:
        """Take a key."""
        if key.kind == "release":
            return "ignored"
        if self._jump:
            backward, self._jump = self._jump == "backward", ""
            if key.text:
                self.buffer.jump(key.text, backward=backward)
                return "done"
        if self.menu is not None and (outcome := self._menu_key(self.menu, key)) is not None:
            return outcome
        match self.keymap.action(key, ("tui.input.", "tui.editor.")):
            case "tui.input.submit":
                if not self.buffer.newline_after_backslash():
                    return "submit"
                self._changed()
            case "tui.input.newLine":
                self._type("\n")
            case "tui.input.tab":
                self._forced = True
                self.wanted = self._request(forced=True)
            case str(action) if action in _EDITS:
                _EDITS[action](self.buffer)
                self._changed()
            case str(action) if action.startswith("tui.editor."):
                self._move(action)
            case _ if key.text and not _is_shortcut(key):
                self._type(key.text)
            case _:
                return "ignored"
        return "done"

    def forget_jump(self) -> None:
        """Another key was pressed than a character to jump to, and somebody else has taken it."""
        self._jump = ""

    def paste(self, text: str) -> None:
        """Take what was pasted."""
        self.buffer.paste(text)
        self._close()

    def set_text(self, text: str) -> None:
        """Replace the text."""
        self.buffer.set_text(text)
        self._close()

    def take(self) -> str:
        """Return the text to send, remember it, and leave the editor empty."""
        self._close()
        return self.buffer.submit()

    def _type(self, text: str) -> None:
        self.buffer.insert(text)
        self._changed()

    def _move(self, action: str) -> None:
        buffer, width = self.buffer, self._width
        match action.removeprefix("tui.editor."):
            case "cursorUp":
                buffer.up(width)
            case "cursorDown":
                buffer.down(width)
            case "pageUp":
                buffer.move_rows(-MIN_ROWS, width)
            case "pageDown":
                buffer.move_rows(MIN_ROWS, width)
            case "jumpForward":
                self._jump = "forward"
            case "jumpBackward":
                self._jump = "backward"
            case name:
                _MOTIONS[name](buffer)
        self._close()

    # --------------------------------------------------------------------------------------------------- completion

    def offer(self, request: Request, suggestions: Sequence[Suggestion]) -> None:
        """Show suggestions, if they are still wanted; a single one that was asked for by Tab is taken at once."""
        if request != self.wanted:
            return
        if not suggestions:
            self._close()
        elif self._forced and len(suggestions) == 1 and request.kind == "path":
            self._shown = request
            self._accept(suggestions[0])
        else:
            rows = [Item(s, s.label, s.description) for s in suggestions]
            self.menu = SelectList(rows, rows=self.menu_rows)
            self._shown, self._chosen = request, False

    def close_menu(self) -> bool:
        """Close the list of suggestions; return whether one was open."""
        was_open = self.menu is not None
        self._close()
        return was_open

    def _menu_key(self, menu: SelectList[Suggestion], key: Key) -> Outcome | None:
        match self.keymap.action(key, ("tui.select.", "tui.input.tab")):
            case "tui.select.up" | "tui.select.down" | "tui.select.pageUp" | "tui.select.pageDown" as action:
                _SELECTIONS[action](menu)
                self._chosen = True
            case "tui.input.tab" | "tui.select.confirm" if self._shown != self.wanted:
                return None  # the list is for what was typed before
            case "tui.select.confirm" if self._shown and not self._takes(self._shown, menu.current):
                self._close()
                return "submit"
            case "tui.input.tab" | "tui.select.confirm" as action:
                command = self._shown is not None and self._shown.kind == "command"
                if menu.current is not None:
                    self._accept(menu.current.value)
                if command and action == "tui.select.confirm":
                    self._close()
                    return "submit"
            case "tui.select.cancel" if not self.keymap.matches(key, "tui.input.copy"):
                self._close()
            case _:
                return None
        return "done"

    def _takes(self, request: Request, item: Item[Suggestion] | None) -> bool:
        """Whether Enter takes `item`: not an argument that is written out already, nor a command that what was typed
        does not begin and nobody has chosen, for it would run."""
        if item is None:
            return True
        if request.kind == "argument":
            return item.value.text.strip() != request.token.strip()
        name = item.value.text.strip().removeprefix("/")
        return request.kind != "command" or self._chosen or begins_command(request.query, name)

    def _accept(self, suggestion: Suggestion) -> None:
        request, self._shown = self._shown, None
        self.menu, self.wanted = None, None
        if request is not None:
            self.buffer.replace_before(len(request.token), suggestion.text)
            if suggestion.goes_on:
                self._changed()

    def _changed(self) -> None:
        """Look for what could be completed now."""
        self._forced = False
        self.wanted = self._request()
        if self.wanted is None:
            self.menu, self._shown = None, None

    def _close(self) -> None:
        self.menu, self.wanted, self._shown, self._forced = None, None, None, False

    def _request(self, *, forced: bool = False) -> Request | None:
        before = self.buffer.before_cursor
        return request_at(before, first=len(before) == self.buffer.cursor, forced=forced, triggers=self.triggers)

    # -------------------------------------------------------------------------------------------------------- view

    def view(self, width: int, max_rows: int) -> EditorView:
        """Return at most `max_rows` rows of `width` cells, around the cursor."""
        inner = max(1, width - 2 * self.padding)
        self._width = max(1, inner - 1)  # the cursor behind a full row has a cell
        layout = self.buffer.layout(self._width)
        cursor = self.buffer.cursor
        row = layout.row_of(cursor)
        count = min(len(layout.rows), max(1, max_rows))
        self._first = max(0, min(max(self._first, row - count + 1), row, len(layout.rows) - count))
        numbers = range(self._first, self._first + count)
        lines = [self._line(layout.pieces(n), cursor if n == row else -1) for n in numbers]
        inset = self.padding if width > 2 * self.padding else 0
        if inset:
            lines = [(Span(" " * inset), *line) for line in lines]
        return EditorView(
            [clip(line, width, "") for line in lines],
            (min(layout.column_of(cursor) + inset, max(0, width - 1)), row - self._first),
            self._first,
            len(layout.rows) - self._first - count,
        )

    def _line(self, pieces: Iterable[tuple[int, str]], cursor: int) -> Line:
        """Return a row; the cluster at offset `cursor` is drawn in reverse."""
        spans: list[Span] = []
        reached = cursor < 0
        for at, piece in pieces:
            char = self.buffer.text[at]
            style = _MARKER if is_marker(char) else PLAIN
            if at == cursor:
                reached = True
                size = 1 if char == "\t" else len(piece)
                spans += (Span(piece[:size], _CURSOR.over(style)), Span(piece[size:]))
            else:
                spans.append(Span(piece, style))
        return merged(spans if reached else [*spans, Span(" ", _CURSOR)])

    def menu_lines(self, width: int, room: int = 1000) -> list[Line]:
        """Return the list of suggestions in at most `room` lines; nothing while it is closed."""
        if self.menu is None or room < 1:
            return []
        self.menu.rows = max(1, min(self.menu_rows, room - 1))
        return self.menu.lines(width)[:room]


def _is_shortcut(key: Key) -> bool:
    return any(key.name.startswith(f"{modifier}+") for modifier in ("ctrl", "alt", "super"))


_SELECTIONS: dict[str, Callable[[SelectList[Suggestion]], None]] = {
    "tui.select.up": lambda menu: menu.move(-1),
    "tui.select.down": lambda menu: menu.move(1),
    "tui.select.pageUp": lambda menu: menu.page(-1),
    "tui.select.pageDown": lambda menu: menu.page(1),
}
_EDITS: dict[str, Callable[[Buffer], object]] = {
    "tui.editor.deleteCharBackward": Buffer.delete_backward,
    "tui.editor.deleteCharForward": Buffer.delete_forward,
    "tui.editor.deleteWordBackward": Buffer.kill_word_backward,
    "tui.editor.deleteWordForward": Buffer.kill_word_forward,
    "tui.editor.deleteToLineStart": Buffer.kill_to_line_start,
    "tui.editor.deleteToLineEnd": Buffer.kill_to_line_end,
    "tui.editor.yank": Buffer.yank,
    "tui.editor.yankPop": Buffer.yank_pop,
    "tui.editor.undo": Buffer.undo,
}
_MOTIONS: dict[str, Callable[[Buffer], object]] = {
    "cursorLeft": Buffer.move_left,
    "cursorRight": Buffer.move_right,
    "cursorWordLeft": Buffer.move_word_left,
    "cursorWordRight": Buffer.move_word_right,
    "cursorLineStart": Buffer.move_line_start,
    "cursorLineEnd": Buffer.move_line_end,
    "historyPrevious": Buffer.history_older,
    "historyNext": Buffer.history_newer,
}
