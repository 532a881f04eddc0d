"""The difference that replacements make in a text: as a unified patch, and numbered for people.

Source: the tools specification, section 4. Only the neighbourhood of the replacements is looked at, so the cost does
not grow with the rest of the file. Lines of more than 10,000 characters are cut: a diff is stored with every edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from piolet.harness.tools.text_file import Replacement

_CONTEXT: Final = 4
_MAX_LINE: Final = 10_000
#: Two groups of lines whose product is larger are not compared line by line, but shown as replaced.
_COMPARED: Final = 1_000_000

Sign: TypeAlias = Literal[" ", "-", "+"]


class TextDiff(Struct, frozen=True):
    """`patch`: unified, 4 lines of context. `diff`: numbered lines. `first_changed_line`: from 1, in the new text."""

    patch: str
    diff: str
    first_changed_line: int


class _Change(Struct, frozen=True):
    """Lines (with their LF) that go and come. `start`, `end`: of the old ones in the text; numbers count from 1."""

    start: int
    end: int
    old_number: int
    new_number: int
    old: Sequence[str]
    new: Sequence[str]


class _Line(Struct, frozen=True):
    sign: Sign
    number: int
    text: str


class _Hunk(Struct, frozen=True):
    """Neighbouring changes with their context. `old_start`, `new_start`: numbers of the first lines."""

    old_start: int
    new_start: int
    lines: Sequence[_Line]
    starts_file: bool
    ends_file: bool


def text_diff(path: str, text: str, replacements: Iterable[Replacement]) -> TextDiff:
    """Return what `replacements`, which do not overlap, change in `text` (LF endings). They change something."""
    changes = _joined(_changes(text, sorted(replacements, key=lambda r: r.start)))
    hunks = list(_hunks(text, changes))
    total = text.count("\n")
    grown = total + sum(_feeds(change.new) - _feeds(change.old) for change in changes)
    width = len(str(max(total, grown) + 1))
    return TextDiff(
        patch=f"--- {path}\n+++ {path}\n" + "".join(_patch_lines(hunks)),
        diff="\n".join(_numbered_lines(hunks, width)),
        first_changed_line=changes[0].new_number,
    )


def _feeds(lines: Sequence[str]) -> int:
    return len(lines) - (1 if lines and not lines[-1].endswith("\n") else 0)


# ------------------------------------------------------------------------------------------------------------ changes


def _changes(text: str, replacements: Sequence[Replacement]) -> Iterator[_Change]:
    """Give the changed lines, those that stay the same left out."""
    number, shift, position = 1, 0, 0
    for start, end, new_text in _regions(text, replacements):
        number += text.count("\n", position, start)
        position = start
        old, new = _split(text[start:end]), _split(new_text)
        for old_from, old_to, new_from, new_to in _differing(old, new):
            yield _Change(
                start + sum(map(len, old[:old_from])),
                start + sum(map(len, old[:old_to])),
                number + old_from,
                number + new_from + shift,
                old[old_from:old_to],
                new[new_from:new_to],
            )
        shift += len(new) - len(old)


def _joined(changes: Iterable[_Change]) -> list[_Change]:
    """Return the changes with those made one that touch, so that all that goes stands before all that comes."""
    joined: list[_Change] = []
    for change in changes:
        if joined and joined[-1].end == change.start:
            last = joined.pop()
            change = replace(last, end=change.end, old=[*last.old, *change.old], new=[*last.new, *change.new])
        joined.append(change)
    return joined


def _regions(text: str, replacements: Sequence[Replacement]) -> Iterator[tuple[int, int, str]]:
    """Give ``(start, end, new text)`` of whole lines; replacements that touch the same line are one region."""
    index = 0
    while index < len(replacements):
        first = replacements[index]
        start = text.rfind("\n", 0, first.start) + 1
        parts, position = [text[start : first.start]], first.start
        while True:
            replacement = replacements[index]
            parts += [text[position : replacement.start], replacement.text]
            position, index = replacement.end, index + 1
            body = "".join(parts)
            end = position if _at_line_start(text, position) and _is_whole(body) else _line_end(text, position)
            is_last = index == len(replacements)
            if is_last or (replacements[index].start >= end and _is_whole(body + text[position:end])):
                break
        parts.append(text[position:end])
        yield start, end, "".join(parts)


def _is_whole(text: str) -> bool:
    """True for whole lines, and for none."""
    return not text or text.endswith("\n")


def _at_line_start(text: str, position: int) -> bool:
    return position == 0 or text[position - 1] == "\n"


def _line_end(text: str, position: int) -> int:
    """Return the place behind the LF that ends the line at `position`."""
    found = text.find("\n", position)
    return found + 1 if found >= 0 else len(text)


def _split(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _differing(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old) * len(new) > _COMPARED:
        yield head, head + len(old), head, head + len(new)
        return
    from difflib import SequenceMatcher

    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield head + old_from, head + old_to, head + new_from, head + new_to


# -------------------------------------------------------------------------------------------------------------- hunks


def _hunks(text: str, changes: Sequence[_Change]) -> Iterator[_Hunk]:
    group: list[_Change] = []
    for change in changes:
        if group and change.old_number - (group[-1].old_number + len(group[-1].old)) > 2 * _CONTEXT:
            yield _hunk(text, group)
            group = []
        group.append(change)
    yield _hunk(text, group)


def _hunk(text: str, changes: Sequence[_Change]) -> _Hunk:
    first = changes[0]
    start = first.start
    for _ in range(_CONTEXT):
        start = text.rfind("\n", 0, max(0, start - 1)) + 1
    before = _split(text[start : first.start])
    lines = [_Line(" ", first.old_number - len(before) + i, line) for i, line in enumerate(before)]
    for index, change in enumerate(changes):
        lines += [_Line("-", change.old_number + i, line) for i, line in enumerate(change.old)]
        lines += [_Line("+", change.new_number + i, line) for i, line in enumerate(change.new)]
        if index + 1 < len(changes):
            after, end = change.old_number + len(change.old), changes[index + 1].start
        else:
            after, end = change.old_number + len(change.old), change.end
            for _ in range(_CONTEXT):
                end = _line_end(text, end)
        lines += [_Line(" ", after + i, line) for i, line in enumerate(_split(text[change.end : end]))]
    return _Hunk(
        old_start=first.old_number - len(before),
        new_start=first.new_number - len(before),
        lines=lines,
        starts_file=start == 0,
        ends_file=end == len(text),
    )


# -------------------------------------------------------------------------------------------------------------- forms


def _patch_lines(hunks: Iterable[_Hunk]) -> Iterator[str]:
    for hunk in hunks:
        old = sum(line.sign != "+" for line in hunk.lines)
        new = sum(line.sign != "-" for line in hunk.lines)
        # Of an empty side the number of the line before it is given.
        old_start, new_start = hunk.old_start - (old == 0), hunk.new_start - (new == 0)
        yield f"@@ -{old_start},{old} +{new_start},{new} @@\n"
        for line in hunk.lines:
            yield line.sign + _shortened(line.text)
            if not line.text.endswith("\n"):
                yield "\n\\ No newline at end of file\n"


def _numbered_lines(hunks: Sequence[_Hunk], width: int) -> Iterator[str]:
    skipped = f" {'':{width}} ..."
    for index, hunk in enumerate(hunks):
        if index or not hunk.starts_file:
            yield skipped
        for line in hunk.lines:
            text = _shortened(line.text).removesuffix("\n")
            yield f"{line.sign}{line.number:{width}} {text}"
    if not hunks[-1].ends_file:
        yield skipped


def _shortened(line: str) -> str:
    if len(line) <= _MAX_LINE:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"{line[:_MAX_LINE]}... [{len(line) - len(end) - _MAX_LINE} more characters]{end}"
