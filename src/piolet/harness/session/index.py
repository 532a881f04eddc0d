"""One pass over the lines of a session: who is whose parent, labels, name, totals. Bodies stay where they are.

A `Head` says of an entry what navigation and context building must know; its line is decoded only when someone asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from piolet.base.json import encode, loads
from piolet.harness.session.entries import Entry, Header
from piolet.harness.session.reading import OTHER_NAMES, read_header
from piolet.harness.session.skim import AssistantSkim, MessageSkim, Skim, ToolResultSkim, UserSkim, skim
from piolet.harness.session.storage import Line
from piolet.harness.session.totals import Totals


class ModelRef(NamedTuple):
    provider: str
    model_id: str


class Head(Struct, frozen=True, gc=False):
    """What is known of an entry without its body; `position` leads its storage to the line.

    `link`: the target of a label or context edit, the first kept entry of a compaction. `model`, `level`: the model
    and thinking level in use from here on.
    """

    position: int
    type: str
    id: str
    parent_id: str | None
    role: str | None = None
    link: str | None = None
    model: ModelRef | None = None
    level: str | None = None


ProblemKind: TypeAlias = Literal[
    "no-header",
    "malformed",
    "torn",
    "not-an-entry",
    "no-id",
    "unreadable",
    "duplicate-id",
    "missing-parent",
    "cycle",
]


class Problem(Struct, frozen=True):
    """A line that was set aside, or a flaw of the tree. `line` counts from 1."""

    kind: ProblemKind
    line: int
    text: str


class Label(Struct, frozen=True):
    text: str
    timestamp: str | None


class Index:
    """All that is known of a session without decoding bodies. It grows line by line.

    A `cursory` one reads only the beginnings of messages where that will do: it lacks their models and totals, and
    holds entries whose bodies may turn out damaged.
    """

    def __init__(self, *, cursory: bool = False) -> None:
        self.cursory = cursory
        self.header: Header | None = None
        self.heads: list[Head] = []
        self.by_id: dict[str, Head] = {}  # of duplicates the later one
        self.labels: dict[str, Label] = {}
        self.name: str | None = None
        self.totals = Totals()
        self.problems: list[Problem] = []
        self._path: list[Head] = []  # the branch that `path` was asked for last
        self._orderly = True  # every parent stands before its children, no id is there twice
        self._models: dict[ModelRef, ModelRef] = {}
        self._last_model: ModelRef | None = None
        self._lines = 0

    def add_all(self, lines: Iterable[Line]) -> bool:
        """Take in lines, in the order of the file. Returns False, and stops, if the first value is no header."""
        for position, text in self._glance_over(lines) if self.cursory else lines:
            self._lines += 1
            try:
                facts = skim(text)
            except TypeError as error:
                if self.header is None:
                    return False
                self._set_aside("not-an-entry", str(error))
                continue
            except ValueError as error:
                if bytes(text).strip():
                    self._set_aside("malformed", str(error))
                continue
            if self.header is None:
                self.header = read_header(loads(bytes(text)))
                if self.header is None:
                    return False
            elif facts.type == "session":
                continue
            elif facts.id:
                self._add(position, facts)
            else:
                self._set_aside("no-id", f"an entry of type {facts.type!r} without id")
        return True

    def _glance_over(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Take in the messages whose beginnings tell enough; give all other lines."""
        from piolet.harness.session.glance import glance

        for line in lines:
            if self.header is None or (seen := glance(line[1])) is None:
                yield line
            else:
                self._lines += 1
                self._put(line[0], "message", *seen)

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Take in decoded entries; positions mean nothing then."""
        for entry in entries:
            self._lines += 1
            self._add(0, skim(encode(entry)))

    def mark_torn(self) -> None:
        """Tell that the last line had no line feed: if it was set aside, it is torn and not damaged."""
        if self.problems and self.problems[-1].line == self._lines and self.problems[-1].kind == "malformed":
            self.problems[-1] = Problem("torn", self._lines, "the last line is incomplete")

    def path(self, leaf: str | None) -> list[Head]:
        """Return the entries from the root to `leaf`, root first. Stops at an unknown parent and at a cycle.

        A branch that goes on from the one that was asked for last costs only what is new of it.
        """
        known = self._path if self._orderly else []
        last = known[-1] if known else None
        path: list[Head] = []
        for head in self.ancestors(leaf):
            if head is last:
                break
            path.append(head)
        else:
            known = []
        if len(path) > len(self.by_id):  # in a cycle: keep what comes before the first repetition
            path = list(dict.fromkeys(path))
        path.reverse()
        self._path = known + path
        return self._path.copy()

    def ancestors(self, leaf: str | None) -> Iterator[Head]:
        """Give `leaf`, its parent, and so on. In a cycle it ends when more entries were given than there are."""
        by_id = self.by_id
        for _ in range(len(by_id) + 1):
            if leaf is None or (head := by_id.get(leaf)) is None:
                return
            yield head
            leaf = head.parent_id

    def _set_aside(self, kind: ProblemKind, text: str) -> None:
        self.problems.append(Problem(kind, self._lines, text))

    def _add(self, position: int, facts: Skim) -> None:
        kind, link = facts.type, facts.target_id
        role = model = level = None
        if kind == "message":
            kind = "message"  # one string for all
            if (message := facts.message) is not None:
                role = message.role
                model = self._count_message(message)
            else:
                self.totals.messages += 1
        else:
            kind = intern(OTHER_NAMES.get(kind, kind))
            match kind:
                case "model_change" if facts.model_id:
                    model = self._model(facts.provider or "", facts.model_id)
                case "thinking_level_change":
                    level = facts.thinking_level
                case "compaction":
                    link = facts.first_kept_entry_id
                case "session_info":
                    self.name = (facts.name or "").strip() or None
                case "label" if link and facts.label:
                    self.labels[link] = Label(facts.label, facts.timestamp)
                case "label" if link:
                    self.labels.pop(link, None)
            if facts.usage is not None and kind in ("compaction", "branch_summary", "usage"):
                self.totals.add(facts.usage)
        self._put(position, kind, facts.id, facts.parent_id, role, link, model, level)

    def _put(
        self,
        position: int,
        kind: str,
        id: str,
        parent_id: str | None,
        role: str | None,
        link: str | None = None,
        model: ModelRef | None = None,
        level: str | None = None,
    ) -> None:
        by_id = self.by_id
        if parent_id is not None:
            if (parent := by_id.get(parent_id)) is not None:
                parent_id = parent.id  # one string for both
            else:
                self._orderly = False
        head = Head(position, kind, id, parent_id, role, link, model, level)
        if by_id.setdefault(id, head) is not head:
            by_id[id] = head
            self._orderly = False
        self.heads.append(head)

    def _model(self, provider: str, model_id: str) -> ModelRef:
        known = self._last_model
        if known is None or known.model_id != model_id or known.provider != provider:
            model = ModelRef(provider, model_id)
            known = self._last_model = self._models.setdefault(model, model)
        return known

    def _count_message(self, message: MessageSkim) -> ModelRef | None:
        """Add a message to the totals; return the model that it makes the one in use."""
        totals = self.totals
        totals.messages += 1
        if isinstance(message, AssistantSkim):
            totals.assistant_messages += 1
            for block in message.content:
                totals.tool_calls += block.type == "toolCall"
            if message.usage is not None:
                totals.add(message.usage)
            return self._model(message.provider, message.model) if message.model else None
        if isinstance(message, ToolResultSkim):
            totals.tool_results += 1
            if message.usage is not None:
                totals.add(message.usage)
        elif isinstance(message, UserSkim):
            totals.user_messages += 1
        return None
