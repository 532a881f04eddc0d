"""Tells whether a line matches a pattern, in time that grows only with the length of the line.

A pattern with repetitions becomes an automaton whose states are made as they are met; a backtracking engine could be
kept busy for ever by one line. A pattern without any goes to Python's ``re``, which is faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from piolet.harness.environments import charsets
from piolet.harness.environments.patterns import Assertion, Choice, Leaf, Node, Repeat, Sequence

#: Above so many states the automaton begins anew, to bound memory.
_MAX_STATES: Final = 2_000
#: So many alternatives and optional parts a backtracking engine may try.
_MAX_BRANCHES: Final = 8


class LineMatcher(Protocol):
    """`lines(text)` gives the start of every line of `text` (LF between lines) that matches, in order."""

    def lines(self, text: str) -> Iterator[int]: ...


def compile_pattern(node: Node) -> LineMatcher:
    """Return the engine for the pattern."""
    return _Expression(node) if _is_simple(node) else Automaton(node)


def _is_simple(node: Node) -> bool:
    return not _repeats(node) and _branches(node) <= _MAX_BRANCHES


def _repeats(node: Node) -> bool:
    match node:
        case Sequence(nodes) | Choice(nodes):
            return any(_repeats(part) for part in nodes)
        case Repeat(part, _, high):
            return high is None or high > 1 or _repeats(part)
        case _:
            return False


def _branches(node: Node) -> int:
    match node:
        case Sequence(nodes):
            return sum(_branches(part) for part in nodes)
        case Choice(nodes):
            return 1 + sum(_branches(part) for part in nodes)
        case Repeat(part, _, _):
            return 1 + _branches(part)
        case _:
            return 0


# --------------------------------------------------------------------------------------------------- Python's engine


class _Expression:
    def __init__(self, node: Node) -> None:
        self._regex = re.compile(_to_python(node), re.MULTILINE)

    def lines(self, text: str) -> Iterator[int]:
        position = 0
        while (found := self._regex.search(text, position)) is not None:
            start = text.rfind("\n", 0, found.start()) + 1
            if start == len(text):  # behind the last LF there is no line
                return
            yield start
            end = text.find("\n", found.start())
            if end < 0:
                return
            position = end + 1


def _to_python(node: Node) -> str:
    match node:
        case Leaf(ranges):
            literal = node.literal
            return re.escape(literal) if literal is not None else _python_class(ranges)
        case Assertion("^"):
            return "^"
        case Assertion("$"):
            return "$"
        case Assertion(kind):
            inside = _python_class(charsets.word())
            edge = f"(?<={inside})(?!{inside})|(?<!{inside})(?={inside})"
            return f"(?:{edge})" if kind == r"\b" else f"(?!{edge})"
        case Sequence(nodes):
            return "".join(map(_to_python, nodes))
        case Choice(nodes):
            return f"(?:{'|'.join(map(_to_python, nodes))})"
        case Repeat(part, low, high):
            return f"(?:{_to_python(part)}){{{low},{'' if high is None else high}}}"


def _python_class(ranges: charsets.Ranges) -> str:
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"


# ---------------------------------------------------------------------------------------------------- the automaton


class _Char(Struct):
    leaf: Leaf


class _Assert(Struct):
    kind: str


class _Split(Struct):
    targets: tuple[int, ...]


class _Match(Struct):
    pass


_Step: TypeAlias = _Char | _Assert | _Split | _Match
#: What stands on one side of a place: the edge of the line, a character of a word, another one.
_Side: TypeAlias = Literal["edge", "word", "other"]


class _State(Struct, eq=False):
    """Steps that wait to be followed, with what stands before them. Next states by character; None: it matches."""

    waiting: frozenset[int]
    before: _Side
    next: dict[str, _State | None]


class Automaton:
    """A nondeterministic program of steps, run as a deterministic one."""

    def __init__(self, node: Node) -> None:
        self._steps: list[_Step] = []
        self._compile(node)
        self._steps.append(_Match())
        self._required = required_literal(node)
        self._has_word_edges = any(isinstance(step, _Assert) and step.kind in (r"\b", r"\B") for step in self._steps)
        self._sides: dict[str, _Side] = {}
        self._forget()

    def lines(self, text: str) -> Iterator[int]:
        position, end = 0, len(text)
        while position < end:
            if self._required:
                found = text.find(self._required, position)
                if found < 0:
                    return
                position = text.rfind("\n", position, found) + 1 or position
            line_end = text.find("\n", position)
            line_end = end if line_end < 0 else line_end
            if self.matches(text[position:line_end]):
                yield position
            position = line_end + 1

    def matches(self, line: str) -> bool:
        """Return whether the pattern is found in `line`, which has no LF."""
        state = self._start
        for character in line:
            try:
                following = state.next[character]
            except KeyError:
                following = self._follow(state, character)
            if following is None:
                return True
            state = following
        return self._follow(state, "") is None

    def _follow(self, state: _State, character: str) -> _State | None:
        """Return the state behind `character`; an empty one is the end of the line."""
        after = self._side(character)
        following: set[int] = {0}
        seen: set[int] = set()
        stack = list(state.waiting)
        result: _State | None
        while stack:
            index = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            match self._steps[index]:
                case _Match():
                    state.next[character] = None
                    return None
                case _Split(targets):
                    stack.extend(targets)
                case _Assert(kind):
                    if _holds(kind, state.before, after):
                        stack.append(index + 1)
                case _Char(leaf):
                    if character and charsets.contains(leaf.ranges, character):
                        following.add(index + 1)
        result = self._state(frozenset(following), after)
        state.next[character] = result
        return result

    def _state(self, waiting: frozenset[int], before: _Side) -> _State:
        key = (waiting, before)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MAX_STATES:
                self._forget()
            state = self._states[key] = _State(waiting, before, {})
        return state

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[int], _Side], _State] = {}
        self._start = self._states[frozenset((0,)), "edge"] = _State(frozenset((0,)), "edge", {})

    def _side(self, character: str) -> _Side:
        if not character:
            return "edge"
        if not self._has_word_edges:
            return "other"
        side = self._sides.get(character)
        if side is None:
            side = self._sides[character] = "word" if charsets.contains(charsets.word(), character) else "other"
        return side

    def _compile(self, node: Node) -> None:
        """Append the steps of `node`; they go on with the step behind them."""
        match node:
            case Leaf():
                self._steps.append(_Char(node))
            case Assertion(kind):
                self._steps.append(_Assert(kind))
            case Sequence(nodes):
                for part in nodes:
                    self._compile(part)
            case Choice(nodes):
                self._compile_choice(nodes)
            case Repeat(part, low, high):
                for _ in range(low):
                    self._compile(part)
                if high is None:
                    self._compile_loop(part)
                else:
                    splits = []
                    for _ in range(high - low):
                        splits.append(len(self._steps))
                        self._steps.append(_Split(()))
                        self._compile(part)
                    for at in splits:
                        self._steps[at] = _Split((at + 1, len(self._steps)))

    def _compile_choice(self, nodes: tuple[Node, ...]) -> None:
        entry = len(self._steps)
        self._steps.append(_Split(()))
        starts, exits = [], []
        for part in nodes:
            starts.append(len(self._steps))
            self._compile(part)
            exits.append(len(self._steps))
            self._steps.append(_Split(()))
        self._steps[entry] = _Split(tuple(starts))
        for at in exits:
            self._steps[at] = _Split((len(self._steps),))

    def _compile_loop(self, node: Node) -> None:
        entry = len(self._steps)
        self._steps.append(_Split(()))
        self._compile(node)
        self._steps.append(_Split((entry,)))
        self._steps[entry] = _Split((entry + 1, len(self._steps)))


def _holds(kind: str, before: _Side, after: _Side) -> bool:
    match kind:
        case "^":
            return before == "edge"
        case "$":
            return after == "edge"
        case r"\b":
            return (before == "word") != (after == "word")
        case _:
            return (before == "word") == (after == "word")


def required_literal(node: Node) -> str:
    """Return the longest text that every match must contain, as far as it is easily seen."""
    longest = run = ""
    for part in node.nodes if isinstance(node, Sequence) else (node,):
        literal = part.literal if isinstance(part, Leaf) else None
        if literal is not None:
            run += literal
            longest = max(longest, run, key=len)
        elif not isinstance(part, Assertion):
            run = ""
    return longest
