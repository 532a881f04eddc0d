"""Walking the session tree: selection, folding, filters, search, and drawing the rows around the selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from piolet.tui.spans import Line, Span, Style, clip, line_text, pad, part
from piolet.tui.text import fit, graphemes, one_line, width
from piolet.tui.tree_layout import (
    FILTERS,
    Filter,
    TreeNode,
    TreeRow,
    found,
    lay_out,
    shown,
    visible_ancestors,
)

INDENT = 3
TEXT_LIMIT = 200
ROOM = 24  # cells that the selected text has at least, if the screen has them

_CURSOR, _DIM, _MUTED, _LABEL, _PLAIN = Style("accent"), Style("dim"), Style("muted"), Style("warning"), Style()
_STYLES: dict[str, tuple[Style, Style]] = {  # of the prefix and of the text
    "user": (Style("accent"), _PLAIN),
    "assistant": (Style("success"), _PLAIN),
    "tool": (_MUTED, _MUTED),
    "bash": (_DIM, _DIM),
    "custom_message": (Style("customMessageLabel"), _PLAIN),
    "compaction": (Style("borderAccent"), Style("borderAccent")),
    "branch_summary": (Style("warning"), _PLAIN),
    "bookkeeping": (_DIM, _DIM),
}


class TreeView:
    """A tree with a selected row."""

    def __init__(self, nodes: Sequence[TreeNode], leaf: str | None, filter: Filter = "default") -> None:
        self._nodes = list(nodes)
        self.leaf = leaf
        self.filter: Filter = filter
        self.query = ""
        self.show_times = False
        self._folded: set[str] = set()
        self.rows: list[TreeRow] = []
        self.selected = 0
        self._lay_out(leaf)

    @property
    def current(self) -> TreeNode | None:
        """The selected node; None in an empty tree."""
        return self.rows[self.selected].node if self.rows else None

    # ------------------------------------------------------------------------------------------------------ choosing

    def move(self, count: int) -> None:
        """Move the selection; over the end it comes in at the other end."""
        if self.rows:
            self.selected = (self.selected + count) % len(self.rows)

    def page(self, count: int) -> None:
        """Move the selection by many rows, at most to the end."""
        self.selected = max(0, min(len(self.rows) - 1, self.selected + count))

    def select(self, id: str) -> None:
        """Select the entry `id`, or its nearest visible ancestor."""
        numbers = {row.node.id: number for number, row in enumerate(self.rows)}
        known = visible_ancestors(self._nodes, numbers)
        self.selected = numbers.get(known.get(id) or "", min(self.selected, max(0, len(self.rows) - 1)))

    def fold_or_up(self) -> None:
        """Fold a root or the start of a branch; from anywhere else go up to the last such start."""
        if not self.rows:
            return
        row = self.rows[self.selected]
        if row.start and row.has_children and not row.folded:
            self._folded.add(row.node.id)
            self._lay_out(row.node.id)
            return
        at = row.parent
        while at is not None and not self.rows[at].start:
            at = self.rows[at].parent
        self.selected = self.selected if at is None else at

    def unfold_or_down(self) -> None:
        """Unfold; where nothing is folded go down to the next start of a branch, or to the end of this one."""
        if not self.rows:
            return
        row = self.rows[self.selected]
        if row.folded:
            self._folded.discard(row.node.id)
            self._lay_out(row.node.id)
            return
        at = self.selected
        while at + 1 < len(self.rows) and self.rows[at + 1].parent == at:
            at += 1
            if self.rows[at].start:
                break
        self.selected = at

    # ----------------------------------------------------------------------------------------------- what is visible

    def set_filter(self, filter: Filter) -> None:
        """Show other kinds of entries; the filter that is in force already gives way to the default."""
        self.filter = "default" if filter == self.filter else filter
        self._unfolded()

    def cycle_filter(self, count: int) -> None:
        self.filter = FILTERS[(FILTERS.index(self.filter) + count) % len(FILTERS)]
        self._unfolded()

    def search(self, query: str) -> None:
        """Show only what holds all words of `query`."""
        self.query = query
        self._unfolded()

    def relabel(self, id: str, label: str, label_ms: int) -> None:
        """Take in a changed label; empty: none."""
        self._nodes = [replace(node, label=label, label_ms=label_ms) if node.id == id else node for node in self._nodes]
        self._lay_out(id)

    def _unfolded(self) -> None:
        self._folded.clear()
        self._lay_out(self.current.id if self.current else self.leaf)

    def _lay_out(self, selected: str | None) -> None:
        words = self.query.lower().split()
        self.rows = lay_out(
            self._nodes,
            self.leaf,
            lambda node: shown(node, self.filter, self.leaf) and found(node, words),
            self._folded,
        )
        if selected is not None:
            self.select(selected)
        self.selected = max(0, min(self.selected, len(self.rows) - 1))

    # ------------------------------------------------------------------------------------------------------- drawing

    def lines(self, limit: int, count: int, now: datetime | None = None) -> list[Line]:
        """Return at most `count` rows of `limit` cells, the selected one in the middle where it can be."""
        first = max(0, min(self.selected - count // 2, len(self.rows) - count))
        rows = self.rows[first : first + count]
        pan = self._pan(limit)
        now = now or datetime.now().astimezone()
        return [self._line(row, first + n == self.selected, pan, limit, now) for n, row in enumerate(rows)]

    def status(self) -> str:
        """Return ``(7/29) [filter] [+label time]``."""
        place = f"({self.selected + 1 if self.rows else 0}/{len(self.rows)})"
        filter = f" [{self.filter}]" if self.filter != "default" else ""
        return place + filter + (" [+label time]" if self.show_times else "")

    def _pan(self, limit: int) -> int:
        """Return how many cells the body is moved left, so that the selected text begins on the screen."""
        if not self.rows:
            return 0
        return max(0, self.rows[self.selected].level * INDENT - max(0, limit - 2 - ROOM))

    def _line(self, row: TreeRow, selected: bool, pan: int, limit: int, now: datetime) -> Line:
        body = _without_left((*_indent(row), *self._text(row.node, now)), pan)
        line = clip((Span("› " if selected else "  ", _CURSOR), *body), limit)
        if not selected:
            return line
        chosen = Style(bg="selectedBg", bold=True)
        return pad(tuple(Span(text, style.over(chosen)) for text, style in line), limit, chosen)

    def _text(self, node: TreeNode, now: datetime) -> list[Span]:
        prefix, text = _STYLES[node.kind]
        spans: list[Span] = []
        if node.label:
            spans.append(Span(f"[{one_line(node.label)}] ", _LABEL))
            if self.show_times and node.label_ms:
                spans.append(Span(f"{label_time(node.label_ms, now)} ", _MUTED))
        if node.prefix:
            spans.append(Span(f"{one_line(node.prefix)} ", prefix))
        spans.append(Span(one_line(node.text[: 2 * TEXT_LIMIT])[:TEXT_LIMIT], _MUTED if node.remark else text))
        return spans


def _indent(row: TreeRow) -> list[Span]:
    columns = ["│  " if level in row.bars else "   " for level in range(row.level)]
    fold = ("⊞" if row.folded else "⊟") if row.has_children else "─"
    if row.connector:
        columns[-1] = ("├" if row.connector == "middle" else "└") + fold + " "
    elif row.folded:
        columns.append("⊞ ")
    spans = [Span("".join(columns), _DIM)] if columns else []
    return [*spans, Span("• ", _CURSOR)] if row.active else spans


def _without_left(line: Sequence[Span], count: int) -> Line:
    """Return `line` without its first `count` cells."""
    if count <= 0:
        return tuple(line)
    text = line_text(line)
    cut = fit(text, count)
    half = count - width(text[:cut])  # a wide character of which only the right half would be left
    if not half:
        return part(line, cut, len(text))
    return (Span(" "), *part(line, cut + len(graphemes(text[cut:])[0]), len(text))) if cut < len(text) else ()


def label_time(ms: int, now: datetime) -> str:
    """Return when something was labelled: the time, with the day if that is another, with the year if that is."""
    moment = datetime.fromtimestamp(ms / 1000, now.tzinfo)
    time = f"{moment:%H:%M}"
    if moment.date() == now.date():
        return time
    day = f"{moment.month}/{moment.day} {time}"
    return day if moment.year == now.year else f"{moment:%y}/{day}"
