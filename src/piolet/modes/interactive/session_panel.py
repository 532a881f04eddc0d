"""The list of sessions to choose from (terminal specification, section 9). Pure: it is told what is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from piolet.base.ids import now_ms
from piolet.harness.prompt.skills import as_typed
from piolet.harness.session.listing import SessionInfo
from piolet.harness.session.picker import SortMode, Thread, search, threads
from piolet.tui.component_input import Input, move_in
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import HINT, RULE, TITLE, fit_height, key_hints
from piolet.tui.select_list import Item, SelectList
from piolet.tui.spans import Line, Span, Style, clip, columns, row
from piolet.tui.text import fit, one_line, wrap
from piolet.tui.text import width as text_width

Scope: TypeAlias = Literal["folder", "all"]

_AGES = ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m"))
_SORTS: tuple[SortMode, ...] = ("threaded", "recent")
_ACCENT, _WARNING, _ERROR, _SELECTED = Style("accent"), Style("warning"), Style("error"), Style(bg="selectedBg")


class SessionPanel:
    """Shows sessions. `on_choose`, `on_rename` and `on_delete` get the one that is meant; `on_scope` is called when
    the sessions of another scope are wanted, which `show` then brings.

    `current`: the path of the session that is open, which is never deleted.
    """

    def __init__(
        self,
        on_choose: Callable[[SessionInfo], object],
        on_cancel: Callable[[], object],
        *,
        on_scope: Callable[[Scope], object],
        on_rename: Callable[[SessionInfo], object],
        on_delete: Callable[[SessionInfo], object],
        current: str | None = None,
        home: str = "",
        keymap: Keymap | None = None,
    ) -> None:
        self.scope: Scope = "folder"
        self.progress = ""
        self._infos: Sequence[SessionInfo] = ()
        self._on_choose, self._on_cancel = on_choose, on_cancel
        self._on_scope, self._on_rename, self._on_delete = on_scope, on_rename, on_delete
        self._current, self._home = current, home
        self._keymap = keymap or Keymap()
        self._sort: SortMode = "threaded"
        self._named_only = self._paths = False
        self._deleting: str | None = None
        self._input = Input(prompt="  Search: ", keymap=self._keymap, on_change=lambda query: self._lay_out())
        self._list: SelectList[Thread] = SelectList([])

    def show(self, infos: Sequence[SessionInfo], progress: str = "") -> None:
        """Show these sessions; `progress`: what is said while more are read."""
        self._infos, self.progress = infos, progress
        self._lay_out()

    # ---------------------------------------------------------------------------------------------------------- keys

    def handle(self, key: Key) -> bool:
        current = self._list.current
        info = current.value.info if current else None
        action = self._keymap.action(key, ("tui.input.tab", "app.session.", "tui.select."))
        deleting, self._deleting = self._deleting, None
        if deleting is not None and action in ("tui.select.confirm", "tui.select.cancel"):
            if action == "tui.select.confirm" and info is not None and info.path == deleting:
                self._on_delete(info)
            return True
        if action == "app.session.deleteNoninvasive" and self._input.text:
            action = None
        match action:
            case "tui.input.tab":
                self.scope = "all" if self.scope == "folder" else "folder"
                self._on_scope(self.scope)
            case "app.session.toggleSort":
                self._sort = _SORTS[(_SORTS.index(self._sort) + 1) % len(_SORTS)]
                self._lay_out()
            case "app.session.toggleNamedFilter":
                self._named_only = not self._named_only
                self._lay_out()
            case "app.session.togglePath":
                self._paths = not self._paths
            case "app.session.rename" if info is not None:
                self._on_rename(info)
            case "app.session.delete" | "app.session.deleteNoninvasive" if info is not None:
                if info.path == self._current:
                    self.progress = "The session that is open cannot be deleted"
                else:
                    self._deleting = info.path
            case "tui.select.confirm":
                if info is not None:
                    self._on_choose(info)
            case "tui.select.cancel":
                self._on_cancel()
            case str(action) if action.startswith("tui.select."):
                move_in(self._list, action)
            case _:
                return self._input.handle_input(key)
        return True

    def paste(self, text: str) -> None:
        self._input.paste(text)

    # ------------------------------------------------------------------------------------------------------- drawing

    def lines(self, width: int, height: int) -> Sequence[Line]:
        label = self._keymap.label
        marks = " | ".join(
            f"{'◉' if scope == self.scope else '○'} {title}"
            for scope, title in (("folder", "Current Folder"), ("all", "All"))
        )
        sort = "Relevance" if self._input.text.strip() else self._sort.title()
        state = f"{marks}  Name: {'Named' if self._named_only else 'All'}  Sort: {sort}"
        hints = [
            f"Tab scope · {label('app.session.toggleSort')} sort · {label('app.session.toggleNamedFilter')} named · "
            f"{label('app.session.togglePath')} path · {label('app.session.rename')} rename · "
            f"{label('app.session.delete')} delete",
            'words, "phrase", re:pattern',
        ]
        head = [row("─" * width, RULE), columns(row("  Resume session", TITLE), row(state, HINT), width)]
        hints = list(key_hints(hints, width, height))
        head += [row(f" {text}", HINT) for hint in hints for text in wrap(hint, max(1, width - 1))]
        self._list.rows = max(1, min(height // 2, height - len(head) - 2))
        return fit_height(head, self._rows(width), height, self._input.line(width))

    def _rows(self, width: int) -> list[Line]:
        if not self._list.items:
            return [row(f"  {self.progress or 'No sessions'}", HINT)]
        now = now_ms()
        lines = [self._row(number, width, now) for number in self._list.window()]
        place = f"({self._list.selected + 1}/{len(self._list.items)})"
        return [*lines, clip(row(f"  {place}  {self.progress}", HINT), width)]

    def _row(self, number: int, width: int, now: int) -> Line:
        info, depth = self._list.items[number].value
        selected = number == self._list.selected
        style = _WARNING if info.name else Style()
        if info.path == self._current:
            style = _ACCENT
        if info.path == self._deleting:
            style = _ERROR
        indent = "   " * (depth - 1) + "└─ " if depth else ""
        title = one_line(info.name or as_typed(info.first_message)[:500])
        left: Line = (Span("› " if selected else "  ", _ACCENT), Span(indent, HINT), Span(title, style))
        if info.path == self._deleting:
            left = (*left, Span("  Enter deletes it, Escape keeps it", _ERROR))
        line = columns(left, row(self._remarks(info, now, width // 2), HINT), width)
        return tuple(Span(text, one.over(_SELECTED)) for text, one in line) if selected else line

    def _remarks(self, info: SessionInfo, now: int, room: int) -> str:
        """Return what stands behind a title; where it is may take `room` cells."""
        words = [str(info.message_count), age(now - info.modified)]
        if self._paths:
            words.insert(0, _end_of(self._short(info.path), room))
        elif self.scope == "all":
            words.insert(0, _end_of(self._short(info.cwd), room))
        return " ".join(words)

    def _short(self, path: str) -> str:
        home = self._home
        return "~" + path[len(home) :] if home and (path == home or path.startswith(home + "/")) else path

    def _lay_out(self) -> None:
        """Filter and order the sessions; the selection stays on the one where it is, if that is still shown."""
        current = self._list.current
        query = self._input.text
        names: Literal["all", "named"] = "named" if self._named_only else "all"
        found = search(self._infos, query, names=names)
        if not query.strip() and self._sort == "threaded":
            shown = threads(found)
        else:
            shown = [Thread(info, 0) for info in found]
        place = 0
        if current is not None and not query:
            place = next((n for n, one in enumerate(shown) if one.info.path == current.value.info.path), 0)
        self._list.show([Item(one, one.info.path) for one in shown], place)


def _end_of(path: str, room: int) -> str:
    """Return the end of `path` that fits: it tells more than the beginning."""
    beyond = text_width(path) - room
    return f"…{path[fit(path, beyond + 2) :]}" if beyond > 0 else path


def age(ms: int) -> str:
    """Return how long ago something was, in one unit: now, 5m, 3h, 2d, 1w, 3mo, 1y."""
    seconds = ms // 1000
    for size, unit in _AGES:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"
