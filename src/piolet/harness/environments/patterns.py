"""Search patterns: one stated subset of regular expressions, that of Rust without look-around and back-references.

Literals, ``.``, classes (ranges, ``\\d \\s \\w``, POSIX names, ``\\p{Lu}``), ``^ $ \\b \\B``, groups, ``|``, counts,
flags i, s, m, u, U. A pattern is parsed here, whatever engine searches: what is refused is refused everywhere. Only
whether a line matches is asked for, so captures and greed mean nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from piolet.harness.environments import charsets
from piolet.harness.environments.base import InvalidPattern
from piolet.harness.environments.charsets import Ranges

#: A pattern may come to so many characters once its counted repetitions are written out.
MAX_SIZE: Final = 20_000
_META: Final = frozenset(r"\.+*?()|[]{}^$#&-~")
_CONTROLS: Final = {"a": 7, "f": 12, "t": 9, "r": 13, "v": 11}


class Leaf(Struct, frozen=True):
    """One character of a set. `rust` is how ripgrep is told."""

    ranges: Ranges
    rust: str

    @property
    def literal(self) -> str | None:
        """The character, if there is only one."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return chr(self.ranges[0][0])
        return None


class Assertion(Struct, frozen=True):
    kind: Literal["^", "$", r"\b", r"\B"]


class Sequence(Struct, frozen=True):
    nodes: tuple[Node, ...]


class Choice(Struct, frozen=True):
    nodes: tuple[Node, ...]


class Repeat(Struct, frozen=True):
    """`high` is None for any number."""

    node: Node
    low: int
    high: int | None


Node: TypeAlias = Leaf | Assertion | Sequence | Choice | Repeat


def parse(pattern: str, *, ignore_case: bool = False, literal: bool = False) -> Node:
    """Return the tree of `pattern`. `InvalidPattern` if it is not in the subset; the text says what is wrong."""
    if literal:
        if "\n" in pattern:
            raise InvalidPattern("A pattern cannot contain a line feed: lines are searched one by one.")
        return Sequence(tuple(_literal(character, ignore_case) for character in pattern))
    return _Parser(pattern, ignore_case).parse()


def size(node: Node) -> int:
    """Return how many characters and assertions the tree has with counted repetitions written out."""
    match node:
        case Sequence(nodes) | Choice(nodes):
            return 1 + sum(size(part) for part in nodes)
        case Repeat(part, low, high):
            return 1 + size(part) * max(low, high or 0, 1)
        case _:
            return 1


def to_rust(node: Node) -> str:
    """Return the pattern in a form that every version of ripgrep reads alike."""
    match node:
        case Leaf(rust=rust):
            return rust
        case Assertion(kind):
            return kind
        case Sequence(nodes):
            return "".join(f"(?:{to_rust(part)})" if isinstance(part, Choice) else to_rust(part) for part in nodes)
        case Choice(nodes):
            return "|".join(to_rust(part) for part in nodes)
        case Repeat(part, low, high):
            return f"(?:{to_rust(part)}){{{low},{'' if high is None else high}}}"


def _literal(character: str, ignore_case: bool) -> Leaf:
    code = ord(character)
    rust = f"\\{character}" if character in _META else character if character.isprintable() else f"\\x{{{code:x}}}"
    if not ignore_case:
        return Leaf(((code, code),), rust)
    ranges = _folded(character)
    return Leaf(ranges, rust if len(ranges) == 1 and ranges[0] == (code, code) else f"(?i:{rust})")


@lru_cache(maxsize=1024)
def _folded(character: str) -> Ranges:
    return charsets.fold_case(((ord(character), ord(character)),))


class _Parser:
    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self._pattern = pattern
        self._position = 0
        self._ignore_case = ignore_case

    def parse(self) -> Node:
        node = self._choice()
        if self._position < len(self._pattern):
            raise self._error("unopened group")
        if size(node) > MAX_SIZE:
            raise InvalidPattern("The pattern is too large: its repetition counts are too high.")
        return node

    # ------------------------------------------------------------------------------------------------- structure

    def _choice(self) -> Node:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while self._position < len(self._pattern) and self._peek() not in "|)":
            atom = self._atom()
            if atom is not None:
                nodes.append(self._repeated(atom))
        return nodes[0] if len(nodes) == 1 else Sequence(tuple(nodes))

    def _repeated(self, node: Node) -> Node:
        while self._peek() in ("*", "+", "?", "{"):
            match self._next():
                case "*":
                    low, high = 0, None
                case "+":
                    low, high = 1, None
                case "?":
                    low, high = 0, 1
                case _:
                    low, high = self._counts()
            self._take("?")  # lazy: no difference here
            node = Repeat(node, low, high)
        return node

    def _counts(self) -> tuple[int, int | None]:
        end = self._pattern.find("}", self._position)
        low, comma, high = (part.strip() for part in self._pattern[self._position : end].partition(","))
        if end < 0 or not _is_count(low) or (high and not _is_count(high)):
            raise self._error("a repetition count must be a number; a brace itself is written \\{")
        self._position = end + 1
        at_least, at_most = int(low), int(high) if high else None if comma else int(low)
        if at_most is not None and at_most < at_least:
            raise self._error("invalid repetition count: the start must be <= the end")
        return at_least, at_most

    def _atom(self) -> Node | None:
        """Return the next atom, None for flags that hold for the rest of the group."""
        match character := self._next():
            case "(":
                return self._group()
            case "[":
                ranges, rust = self._class()
                return Leaf(ranges, f"(?i:{rust})" if self._ignore_case else rust)
            case ".":
                return Leaf(charsets.ANY, ".")
            case "^" | "$":
                return Assertion("^" if character == "^" else "$")
            case "\\":
                return self._escape()
            case "*" | "+" | "?" | "{":
                raise self._error(f"nothing to repeat; the character itself is written \\{character}")
            case "\n":
                raise self._error("a pattern cannot contain a line feed: lines are searched one by one")
            case _:
                return _literal(character, self._ignore_case)

    def _group(self) -> Node | None:
        outside = self._ignore_case
        if self._take("?"):
            if self._take("P<") or (self._peek() == "<" and self._pattern[self._position + 1 :][:1] not in ("=", "!")):
                self._take("<")
                self._group_name()
            elif self._flags():
                return None
        node = self._choice()
        if not self._take(")"):
            raise self._error("unclosed group")
        self._ignore_case = outside
        return node

    def _flags(self) -> bool:
        """Take the flags behind ``(?``. True if they hold for the rest of the group, False if they open a new one."""
        on = True
        while (flag := self._next()) not in (":", ")"):
            match flag:
                case "-":
                    on = False
                case "i":
                    self._ignore_case = on
                case "s" | "U":
                    pass  # no difference here
                case "m" | "u" if on:
                    pass  # the default
                case "=" | "!" | "<" | "P":
                    raise self._error("look-around and references to groups are not supported")
                case _:
                    raise self._error(f"the flag {flag!r} is not supported")
        return flag == ")"

    def _group_name(self) -> None:
        end = self._pattern.find(">", self._position)
        if end < 0 or not self._pattern[self._position : end].isidentifier():
            raise self._error("invalid group name")
        self._position = end + 1

    # --------------------------------------------------------------------------------------------------- characters

    def _escape(self) -> Node:
        character = self._next()
        match character:
            case "b" | "B":
                if self._peek() == "{":
                    raise self._error("word boundaries with a name are not supported")
                return Assertion(r"\b" if character == "b" else r"\B")
            case "A" | "z":
                raise self._error(f"\\{character} is not supported: lines are searched one by one, use ^ and $")
            case _ if character.isdigit():
                raise self._error("back-references are not supported")
            case _:
                ranges, rust = self._escaped_set(character)
                literal = Leaf(ranges, rust).literal
                if literal is not None:
                    return _literal(literal, self._ignore_case)
                return Leaf(ranges, f"(?i:{rust})" if self._ignore_case else rust)

    def _escaped_set(self, character: str) -> tuple[Ranges, str]:
        """Return what the escape of `character`, inside or outside a class, stands for."""
        match character:
            case "d" | "D":
                return _named(charsets.digit(), character)
            case "s" | "S":
                return _named(charsets.SPACE, character)
            case "w" | "W":
                return _named(charsets.word(), character)
            case "p" | "P":
                return self._property(character)
            case "x" | "u" | "U":
                code = self._code({"x": 2, "u": 4, "U": 8}[character])
            case _ if character in _CONTROLS:
                code = _CONTROLS[character]
            case _ if character.isascii() and not character.isalnum() and character.isprintable():
                code = ord(character)
            case "n":
                code = 10
            case _:
                raise self._error(f"unrecognized escape sequence \\{character}")
        if code == 10:
            raise self._error("a pattern cannot match a line feed: lines are searched one by one")
        leaf = _literal(chr(code), False)
        return leaf.ranges, leaf.rust

    def _property(self, sign: str) -> tuple[Ranges, str]:
        if self._take("{"):
            name = self._braced()
        else:
            name = self._next()
        try:
            ranges = charsets.general_category(name)
        except LookupError:
            raise self._error(f"\\p{{{name}}} is not supported, only general categories such as L and Lu") from None
        if self._ignore_case:
            ranges = charsets.fold_case(ranges)
        return (ranges if sign == "p" else charsets.complement(ranges)), f"\\{sign}{{{name}}}"

    def _code(self, digits: int) -> int:
        if self._take("{"):
            text = self._braced()
        else:
            text = self._pattern[self._position : self._position + digits]
            self._position += digits
            text = text if len(text) == digits else ""
        try:
            code = int(text, 16)
        except ValueError:
            code = -1
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self._error("invalid hexadecimal code point")
        return code

    def _braced(self) -> str:
        end = self._pattern.find("}", self._position)
        if end < 0:
            raise self._error("unclosed brace")
        start, self._position = self._position, end + 1
        return self._pattern[start:end]

    def _class(self) -> tuple[Ranges, str]:
        """Return the class whose opening bracket has been taken."""
        negated = self._take("^")
        sets: list[Ranges] = []
        rust: list[str] = []
        first = True
        while first or self._peek() != "]":
            first = False
            ranges, text = self._class_item()
            if self._peek() == "-" and self._pattern[self._position + 1 :][:1] not in ("]", ""):
                self._position += 1
                upper, upper_text = self._class_item()
                ranges, text = self._range(ranges, upper), f"{text}-{upper_text}"
            sets.append(ranges)
            rust.append(text)
        self._position += 1
        ranges = charsets.without_line_feed(charsets.union(*sets))
        if self._ignore_case:
            ranges = charsets.fold_case(ranges)
        if negated:
            ranges = charsets.complement(ranges)
        if not ranges:
            raise self._error("empty character class")
        return ranges, f"[{'^' if negated else ''}{''.join(rust)}]"

    def _class_item(self) -> tuple[Ranges, str]:
        character = self._next("unclosed character class")
        rest = self._pattern[self._position :]
        if character == "\\":
            escaped = self._next()
            if escaped in "bB":
                raise self._error("word boundaries cannot stand in a character class")
            return self._escaped_set(escaped)
        if character == "[":
            return self._posix_class()
        if character == "\n":
            raise self._error("a pattern cannot match a line feed: lines are searched one by one")
        if character in "&-~" and rest.startswith(character):
            raise self._error("set operations in character classes are not supported")
        leaf = _literal(character, False)
        return leaf.ranges, leaf.rust

    def _posix_class(self) -> tuple[Ranges, str]:
        end = self._pattern.find(":]", self._position)
        name = self._pattern[self._position + 1 : end] if self._peek() == ":" and end > 0 else ""
        ranges = charsets.ASCII_CLASSES.get(name.removeprefix("^"))
        if ranges is None:
            raise self._error("classes within classes are not supported; a bracket itself is written \\[")
        self._position = end + 2
        if self._ignore_case:
            ranges = charsets.fold_case(ranges)
        return (charsets.complement(ranges) if name.startswith("^") else ranges), f"[:{name}:]"

    def _range(self, lower: Ranges, upper: Ranges) -> Ranges:
        low, high = Leaf(lower, "").literal, Leaf(upper, "").literal
        if low is None or high is None:
            raise self._error("invalid range boundary, must be a character")
        if low > high:
            raise self._error("invalid character class range, the start must be <= the end")
        return ((ord(low), ord(high)),)

    # ------------------------------------------------------------------------------------------------------- scanner

    def _peek(self) -> str:
        return self._pattern[self._position : self._position + 1]

    def _next(self, missing: str = "incomplete pattern") -> str:
        if self._position >= len(self._pattern):
            raise self._error(missing)
        self._position += 1
        return self._pattern[self._position - 1]

    def _take(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._position)
        self._position += len(text) if found else 0
        return found

    def _error(self, what: str) -> InvalidPattern:
        return InvalidPattern(f"Invalid pattern {self._pattern!r}: {what}.")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7


def _named(ranges: Ranges, letter: str) -> tuple[Ranges, str]:
    return (charsets.complement(ranges) if letter.isupper() else ranges), f"\\{letter}"
