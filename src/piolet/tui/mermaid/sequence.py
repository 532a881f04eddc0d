"""Sequence diagrams: participants side by side, and what passes between them from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from piolet.tui.mermaid.canvas import Canvas, Stroke
from piolet.tui.mermaid.source import Unreadable, label, widest, wrapped
from piolet.tui.spans import Line
from piolet.tui.text import width

MAX_PARTICIPANTS, MAX_DEPTH = 20, 6

_person = re.compile(r"(?:create )?(?:participant|actor) ([^@]+?)(?: as (.+))?\Z")
_message = re.compile(r"(\S.*?) ?(<<)?(--?)(>>|>|x|\)) ?[+-]? ?([^:<>]+?) ?(?:: ?(.*))?\Z")
_note = re.compile(r"note (over|left of|right of) ([^:]+?) ?: ?(.*)\Z", re.IGNORECASE)
_frame = re.compile(r"(loop|alt|opt|par|critical|break|rect|box|else|and|option|end)(?: (.*))?\Z")
_ignored = re.compile(r"(?:activate|deactivate|destroy|links?|properties|title|accTitle|accDescr)\b")
_HEADS = {">>": ("▶", "◀"), ">": ("", ""), "x": ("×", "×"), ")": ("❯", "❮")}


@dataclass(frozen=True, slots=True)
class Message:
    """`head` and `tail`: the signs at its ends, or ""."""

    source: int
    target: int
    rows: list[str]
    stroke: Stroke
    head: str
    tail: str


@dataclass(frozen=True, slots=True)
class Note:
    """Words over the participants `first` to `last`, or beside one: `side` -1 is left, 1 right."""

    first: int
    last: int
    side: int
    rows: list[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A border of a frame that lies in `depth` others: its beginning "┌", its end "└", or one in between "├"."""

    sign: str
    text: str
    depth: int


Step: TypeAlias = Message | Note | Rule


@dataclass(slots=True)
class Talk:
    """What a diagram says. Participants have numbers from 1 on; 0 and the next one are the edges of the drawing."""

    names: dict[str, list[str]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def number(self, name: str) -> int:
        """Return the number of a participant, who may be new."""
        name = name.strip().strip('"')
        self.names.setdefault(name, label(name) or [name])
        if len(self.names) > MAX_PARTICIPANTS:
            raise Unreadable
        return list(self.names).index(name) + 1


def read(lines: Sequence[str], wrap: int) -> Talk:
    """Return what a sequence diagram says, its texts in rows of at most `wrap` cells. Raises `Unreadable`."""
    talk, frames, count = Talk(), list[str](), 0
    for line in lines[1:]:
        if line.startswith("autonumber"):
            count = 1
        elif match := _person.match(line):
            talk.number(match[1])
            if match[2]:
                talk.names[match[1].strip().strip('"')] = label(match[2])
        elif match := _note.match(line):
            sides = sorted(talk.number(name) for name in match[2].split(","))
            side = {"o": 0, "l": -1, "r": 1}[match[1][0].lower()]
            talk.steps.append(Note(sides[0], sides[-1], side, wrapped(label(match[3]), wrap)))
        elif match := _frame.match(line):
            talk.steps += _framed(match[1], match[2] or "", frames)
        elif match := _message.match(line):
            rows = label(match[6] or "")
            if count:
                rows, count = [f"{count}. {' '.join(rows)}"], count + 1
            source, target = talk.number(match[1]), talk.number(match[5])
            ahead, back = _HEADS[match[4]] if source <= target else _HEADS[match[4]][::-1]
            stroke: Stroke = "solid" if match[3] == "-" else "dotted"
            talk.steps.append(Message(source, target, wrapped(rows, wrap), stroke, ahead, back if match[2] else ""))
        elif not _ignored.match(line):
            raise Unreadable
    if frames or not talk.names:
        raise Unreadable
    return talk


def _framed(word: str, text: str, frames: list[str]) -> Iterator[Rule]:
    """Open, part or close a frame; those that only colour or group things are not drawn."""
    if word in ("else", "and", "option", "end"):
        if not frames:
            raise Unreadable
        closed = frames.pop() if word == "end" else frames[-1]
    else:
        frames.append(word)
        closed = word
    depth = sum(frame not in ("rect", "box") for frame in frames) - (word != "end")
    if depth >= MAX_DEPTH or len(frames) > 2 * MAX_DEPTH:
        raise Unreadable
    if closed not in ("rect", "box"):
        words = " ".join([word, *label(text)])
        yield Rule("└", "", depth) if word == "end" else Rule("┌" if word == closed else "├", f" {words} ", depth)


def sequence_lines(talk: Talk, limit: int) -> list[Line]:
    """Return the drawing; nothing if it is wider than `limit` cells."""
    canvas, places = Canvas(), _places(talk)
    if places[-1] >= limit:
        return []
    hidden: dict[int, list[tuple[int, int]]] = {number: [] for number in range(1, len(talk.names) + 1)}
    frames: list[int] = []
    y = top = max(map(len, talk.names.values())) + 1
    for step in talk.steps:
        y += 1
        if isinstance(step, Rule):
            y = _draw_rule(canvas, step, places, y, frames)
        elif isinstance(step, Note):
            (left, right), last = _sides(step, places), y + len(step.rows) + 1
            canvas.frame((left, y), (right, last))
            for n, row in enumerate(step.rows, y + 1):
                canvas.write((left + 2, n), row)
            for number in hidden:
                if left <= places[number] <= right:
                    hidden[number].append((y, last))
            y = last
        elif step.source == step.target:
            y = _draw_loop(canvas, step, places[step.source], y)
        else:
            y = _draw_message(canvas, step, places[step.source], places[step.target], y)
    for number, rows in enumerate(talk.names.values(), 1):
        start = top
        for gap, end in [*hidden[number], (y + 1, 0)]:
            canvas.line((places[number], start), (places[number], gap))
            start = end
        size = widest(rows) + 4
        left = places[number] - size // 2
        for at in (0, y + 1):
            canvas.frame((left, at), (left + size - 1, at + top))
            for n, row in enumerate(rows, at + 1):
                canvas.centre(left, left + size - 1, n, row)
    return canvas.lines()


def _places(talk: Talk) -> list[int]:
    """Return the columns of the participants, between those of the edges."""
    edge = len(talk.names) + 1
    # The edges are those of the boxes beside them.
    sizes = [-3, *(widest(rows) + 4 for rows in talk.names.values()), -3]
    # From which participant to which there must be how many cells.
    needs = [(n, n + 1, (sizes[n] - 1) // 2 + sizes[n + 1] // 2 + 2) for n in range(edge)]
    depth = max((step.depth + 1 for step in talk.steps if isinstance(step, Rule)), default=0)
    for step in talk.steps:
        if isinstance(step, Rule):
            needs.append((0, edge, width(step.text) + 3 - 4 * (depth - step.depth)))
        elif isinstance(step, Note):
            size = widest(step.rows) + 4
            if step.side:
                needs.append((step.first - (step.side < 0), step.first + (step.side > 0), size + 3))
            else:
                half = size // 2 if step.first == step.last else 2
                needs += [(step.first - 1, step.first, half + 2), (step.last, step.last + 1, half + 2)]
                needs.append((step.first, step.last, size - 5))
        elif step.source == step.target:
            needs.append((step.source, step.source + 1, widest(step.rows) + 7))
        else:
            first, last = sorted((step.source, step.target))
            needs.append((first, last, widest(step.rows) + 4))
    places = [2 * depth]
    for number in range(1, edge + 1):
        places.append(max(places[start] + size for start, end, size in needs if end == number and start < end))
    return [*places[:-1], places[-1] + 2 * depth]


def _sides(note: Note, places: Sequence[int]) -> tuple[int, int]:
    """Return the columns of the left and the right border of a note."""
    size = widest(note.rows) + 4
    first, last = places[note.first], places[note.last]
    if note.side < 0:
        return first - size - 1, first - 2
    if note.side > 0:
        return first + 2, first + size + 1
    size = max(size, last - first + 5)
    left = (first + last + 1 - size) // 2
    return left, left + size - 1


def _draw_rule(canvas: Canvas, rule: Rule, places: Sequence[int], y: int, frames: list[int]) -> int:
    """Draw a border of a frame; `frames` are the rows where the open ones begin."""
    left, right = 2 * rule.depth, places[-1] - 2 * rule.depth
    if rule.sign == "┌":
        frames.append(y)
    elif rule.sign == "└":
        canvas.frame((left, frames.pop()), (right, y))
    else:
        canvas.line((left, y), (right, y))
    canvas.write((left + 1, y), rule.text)
    return y


def _draw_message(canvas: Canvas, message: Message, start: int, end: int, y: int) -> int:
    """Draw what goes from one participant to another, the words above; return the last row."""
    left, right = min(start, end), max(start, end)
    for row in message.rows:
        canvas.centre(left + 1, right - 1, y, f" {row} ")
        y += 1
    step = 1 if start < end else -1
    canvas.line((start + (step if message.tail else 0), y), (end - (step if message.head else 0), y), message.stroke)
    if message.tail:
        canvas.sign((start + step, y), message.tail)
    if message.head:
        canvas.sign((end - step, y), message.head)
    return y


def _draw_loop(canvas: Canvas, message: Message, x: int, y: int) -> int:
    """Draw what a participant does by itself; return the last row."""
    last = y + max(1, len(message.rows) - 1)
    canvas.line((x, y), (x + 3, y), message.stroke)
    canvas.line((x + 3, y), (x + 3, last), message.stroke)
    canvas.line((x + 3, last), (x + 1, last), message.stroke)
    canvas.sign((x + 1, last), {"▶": "◀", "❯": "❮"}.get(message.head, message.head or "─"))
    for n, row in enumerate(message.rows, y):
        canvas.write((x + 5, n), row)
    return last
