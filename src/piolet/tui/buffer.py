"""The text of an editor and everything that keys do to it; drawing is elsewhere.

The cursor is an offset in code points and moves by grapheme clusters. A large paste stands in the text as one private
character (its marker), so that motions and deletions take it as one; `value` has it expanded. Source of the rules: the
terminal specification, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Literal, TypeAlias

from piolet.base.ansi import strip_escapes
from piolet.tui.editor_layout import MARKER_FIRST, MARKER_LAST, Layout, is_marker
from piolet.tui.history import PromptHistory
from piolet.tui.text import graphemes

PASTE_LINES, PASTE_CHARS = 10, 1000
UNDO_LIMIT, KILL_LIMIT = 200, 60

_Action: TypeAlias = Literal["", "type", "kill", "yank"]
_marker = re.compile(f"[{MARKER_FIRST}-{MARKER_LAST}]")
_foreign = re.compile(f"[\ud800-\udfff{MARKER_FIRST}-{MARKER_LAST}]")
_label_number = re.compile(r"#(\d+)")
_path = re.compile(r"(/|~/|\.{1,2}/)[^\n]*")


class Buffer:
    """Text with a cursor, history, kill ring and undo."""

    def __init__(self, text: str = "", *, history: Iterable[str] = ()) -> None:
        self.history = PromptHistory(history)
        self.labels: dict[str, str] = {}
        self._pastes: dict[str, str] = {}
        self._text = clean(text)
        self._cursor = len(self._text)
        self._goal: int | None = None  # the column that vertical motion strives for
        self._last: _Action = ""
        self._undo: list[tuple[str, int]] = []
        self._kills: list[str] = []
        self._yanked = 0
        self._layout: Layout | None = None

    # ---------------------------------------------------------------------------------------------------- reading

    @property
    def text(self) -> str:
        """The text with markers for pastes."""
        return self._text

    @property
    def cursor(self) -> int:
        return self._cursor

    @property
    def value(self) -> str:
        """The text with its pastes expanded: what is sent."""
        return _marker.sub(lambda match: self._pastes.get(match[0], ""), self._text)

    @property
    def before_cursor(self) -> str:
        """The current line up to the cursor."""
        return self._text[self._line_start() : self._cursor]

    def layout(self, width: int) -> Layout:
        """Return how the text lies on rows of `width` cells."""
        known = self._layout
        if known is None or known.text is not self._text or known.limit != max(1, width):
            known = self._layout = Layout(self._text, self.labels, width)
        return known

    # ---------------------------------------------------------------------------------------------------- writing

    def insert(self, text: str) -> None:
        """Type `text` at the cursor. Undo takes it back word by word: a blank begins a step."""
        text = clean(text)
        if not text:
            return
        joins = self._last == "type" and not text[0].isspace()
        self._change("type", snapshot=not joins)
        self._put(text)

    def paste(self, text: str) -> None:
        """Insert what was pasted, in one step: as a marker when it is large, and with a blank before a path that would
        run into a word."""
        text = clean(text)
        if not text:
            return
        self._change("")
        previous = self._text[self._cursor - 1 : self._cursor]
        if _path.fullmatch(text) and (previous.isalnum() or previous == "_"):
            self._put(" ")
        lines = text.count("\n") + 1
        self._put(self._mark(text, lines) if lines > PASTE_LINES or len(text) > PASTE_CHARS else text)

    def set_text(self, text: str) -> None:
        """Replace everything by `text`, cursor at the end, in one step; nothing happens if it is there already."""
        text = clean(text)
        if text != self._text:
            self._change("")
            self._show(text, len(text))

    def submit(self) -> str:
        """Return `value`, remember it in the history, and leave the buffer empty with nothing to undo."""
        value = self.value
        self.history.add(self._text)
        self.clear()
        return value

    def clear(self) -> None:
        """Leave the buffer empty with nothing to undo."""
        self._show("", 0)
        self._undo.clear()
        self._last = ""

    def newline_after_backslash(self) -> bool:
        r"""If a ``\`` stands before the cursor, put a line feed in its place; return whether it did."""
        if self._text[self._cursor - 1 : self._cursor] != "\\":
            return False
        self._change("")
        self._cut(self._cursor - 1, self._cursor)
        self._put("\n")
        return True

    def replace_before(self, count: int, text: str) -> None:
        """Replace the `count` code points before the cursor by `text`, in one step."""
        self._change("")
        self._cut(self._cursor - count, self._cursor)
        self._put(clean(text))

    def undo(self) -> None:
        """Take the last step back."""
        if self._undo:
            self.history.leave()
            self._show(*self._undo.pop())
            self._last = ""

    # --------------------------------------------------------------------------------------------------- deleting

    def delete_backward(self) -> None:
        self._delete(self._left(self._cursor), self._cursor)

    def delete_forward(self) -> None:
        self._delete(self._cursor, self._right(self._cursor))

    def kill_word_backward(self) -> None:
        self._kill(self._word_left(self._cursor), self._cursor, front=True)

    def kill_word_forward(self) -> None:
        self._kill(self._cursor, self._word_right(self._cursor))

    def kill_to_line_start(self) -> None:
        """Kill to the start of the line; there, the line feed before it."""
        start = self._line_start()
        self._kill(start if start < self._cursor else max(0, start - 1), self._cursor, front=True)

    def kill_to_line_end(self) -> None:
        """Kill to the end of the line; there, the line feed."""
        end = self._line_end()
        self._kill(self._cursor, end if end > self._cursor else min(len(self._text), end + 1))

    def yank(self) -> None:
        """Insert what was killed last."""
        if self._kills:
            self._change("yank")
            self._put(self._kills[-1])
            self._yanked = len(self._kills[-1])

    def yank_pop(self) -> None:
        """Directly after a yank: put the kill before it in its place."""
        if self._last == "yank" and len(self._kills) > 1:
            self._change("yank")
            self._cut(self._cursor - self._yanked, self._cursor)
            self._kills.insert(0, self._kills.pop())
            self._put(self._kills[-1])
            self._yanked = len(self._kills[-1])

    # ----------------------------------------------------------------------------------------------------- moving

    def move_to(self, offset: int) -> None:
        """Put the cursor at `offset`."""
        self._last, self._goal = "", None
        self._cursor = max(0, min(len(self._text), offset))

    def move_left(self) -> None:
        self.move_to(self._left(self._cursor))

    def move_right(self) -> None:
        self.move_to(self._right(self._cursor))

    def move_word_left(self) -> None:
        self.move_to(self._word_left(self._cursor))

    def move_word_right(self) -> None:
        self.move_to(self._word_right(self._cursor))

    def move_line_start(self) -> None:
        self.move_to(self._line_start())

    def move_line_end(self) -> None:
        self.move_to(self._line_end())

    def jump(self, char: str, *, backward: bool = False) -> bool:
        """Move to the next (or previous) place of `char`, over lines; return whether there is one."""
        found = self._text.rfind(char, 0, self._cursor) if backward else self._text.find(char, self._cursor + 1)
        if found >= 0:
            self.move_to(found)
        return found >= 0

    def move_rows(self, count: int, width: int) -> bool:
        """Move `count` visual rows down (negative: up) in rows of `width`, striving for the column where the vertical
        motion began; return False if the cursor is in the last (first) row already."""
        layout = self.layout(width)
        row = layout.row_of(self._cursor)
        target = max(0, min(len(layout.rows) - 1, row + count))
        if target == row:
            return False
        goal = layout.column_of(self._cursor) if self._goal is None else self._goal
        self.move_to(layout.offset_at(target, goal))
        self._goal = goal
        return True

    def up(self, width: int) -> None:
        """Move a row up; in the first row to its start, and from there to the prompt before."""
        if not self.move_rows(-1, width):
            if self.history.browsing or self._cursor == 0:
                self.history_older()
            else:
                self.move_to(0)

    def down(self, width: int) -> None:
        """Move a row down; in the last row to the next prompt when browsing, else to its end."""
        if not self.move_rows(1, width):
            if self.history.browsing:
                self.history_newer()
            else:
                self.move_to(len(self._text))

    def history_older(self) -> None:
        """Show the prompt before the one shown, cursor at its start."""
        text = self.history.older(self._text)
        if text is not None:
            self._show(text, 0)

    def history_newer(self) -> None:
        """Show the prompt after the one shown, at last the draft, cursor at its end."""
        text = self.history.newer()
        if text is not None:
            self._show(text, len(text))

    # ---------------------------------------------------------------------------------------------------- details

    def _change(self, action: _Action, *, snapshot: bool = True) -> None:
        """Prepare a change: what is there becomes a step of undo unless the change joins the one before."""
        self.history.leave()
        if snapshot:
            self._undo.append((self._text, self._cursor))
            del self._undo[:-UNDO_LIMIT]
        self._last, self._goal = action, None

    def _show(self, text: str, cursor: int) -> None:
        self._text, self._cursor, self._goal = text, cursor, None

    def _put(self, text: str) -> None:
        self._show(self._text[: self._cursor] + text + self._text[self._cursor :], self._cursor + len(text))

    def _cut(self, start: int, end: int) -> str:
        killed = self._text[start:end]
        self._show(self._text[:start] + self._text[end:], start)
        return killed

    def _delete(self, start: int, end: int) -> None:
        if start < end:
            self._change("")
            self._cut(start, end)

    def _kill(self, start: int, end: int, *, front: bool = False) -> None:
        if start >= end:
            return
        merges = self._last == "kill" and bool(self._kills)
        self._change("kill")
        killed = self._cut(start, end)
        if merges:
            top = self._kills.pop()
            killed = killed + top if front else top + killed
        self._kills = [*self._kills, killed][-KILL_LIMIT:]

    def _mark(self, text: str, lines: int) -> str:
        """Return a new marker for `text`, numbered after those that stand in the buffer."""
        shown = [_label_number.search(self.labels[char]) for char in self._text if is_marker(char)]
        number = max((int(match[1]) for match in shown if match), default=0) + 1
        char = chr(ord(MARKER_FIRST) + len(self._pastes) % (ord(MARKER_LAST) - ord(MARKER_FIRST) + 1))
        size = f"+{lines} lines" if lines > PASTE_LINES else f"{len(text)} chars"
        self._pastes[char] = text
        self.labels[char] = f"[paste #{number} {size}]"
        return char

    def _line_start(self) -> int:
        return self._text.rfind("\n", 0, self._cursor) + 1

    def _line_end(self) -> int:
        end = self._text.find("\n", self._cursor)
        return len(self._text) if end < 0 else end

    def _left(self, at: int) -> int:
        before = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return at - len(graphemes(before)[-1]) if before else max(0, at - 1)

    def _right(self, at: int) -> int:
        following = self._text[at : at + 64]
        return at + len(graphemes(following)[0]) if following else at

    def _word_left(self, at: int) -> int:
        """Return where the word before `at` begins; at the start of a line, the end of the one before."""
        before = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return at - _word_size(reversed(graphemes(before))) if before else max(0, at - 1)

    def _word_right(self, at: int) -> int:
        """Return where the word after `at` ends; at the end of a line, the start of the next."""
        end = self._text.find("\n", at)
        following = self._text[at : len(self._text) if end < 0 else end]
        return at + _word_size(graphemes(following)) if following else min(len(self._text), at + 1)


def clean(text: str) -> str:
    """Return `text` as a buffer holds it: LF line ends, tabs kept, escape sequences and other controls gone, and
    nothing that could be taken for a marker."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = strip_escapes(text)
    return text if text.isascii() else _foreign.sub("\ufffd", text)


def _word_size(clusters: Iterable[str]) -> int:
    """Return the code points up to the end of the first word: blanks, then a run of one kind."""
    size = 0
    for kind, group in groupby(clusters, _kind):
        size += sum(map(len, group))
        if kind != "blank":
            break
    return size


def _kind(cluster: str) -> str:
    char = cluster[0]
    if char.isspace():
        return "blank"
    if is_marker(char):
        return cluster
    return "word" if char.isalnum() or char == "_" else "sign"
