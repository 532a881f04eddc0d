"""Applying the edits of one call to the bytes of a file, all or none. Source: the tools specification, section 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.matching import Found, Haystack, Occurrences
from piolet.harness.tools.paths import well_formed
from piolet.harness.tools.text_file import BOM, TextFile, UnsuitableText, to_lf
from piolet.harness.tools.textdiff import TextDiff, text_diff


class Edit(Struct, frozen=True):
    """One replacement as asked for, in LF form. `name` is what messages call its old text."""

    old: str
    new: str
    name: str


class EditOutcome(Struct, frozen=True):
    """The new bytes of the file, and what changed."""

    data: bytes
    diff: TextDiff


def apply_edits(path: str, data: bytes, edits: Sequence[Mapping[str, str]]) -> EditOutcome:
    """Return `data` with the edits made. `ToolError`, for the model, if any of them cannot be made; `path` names it."""
    wanted = _checked(path, edits)
    try:
        file = TextFile(data)
        found = _located(path, file, wanted)
        replacements = [place.replacement(edit.new) for place, edit in zip(found, wanted, strict=True)]
        changed = file.replaced(replacements)
    except UnsuitableText as error:
        raise ToolError(f"Could not edit file: {path}: {error}.") from error
    if changed == data:
        raise ToolError(f"No changes made to {path}. What would be written is what the file holds already.")
    return EditOutcome(changed, text_diff(path, file.text, replacements))


def _checked(path: str, edits: Sequence[Mapping[str, str]]) -> list[Edit]:
    if not edits:
        raise ToolError("Edit tool input is invalid. There must be at least one edit.")
    wanted = []
    for index, edit in enumerate(edits):
        name = f"edits[{index}]" if len(edits) > 1 else ""
        old, new = (to_lf(well_formed(edit[key])) for key in ("oldText", "newText"))
        if old.startswith(BOM) and old != BOM:  # it is hidden in the file, but may be copied from what was read
            old, new = old.removeprefix(BOM), new.removeprefix(BOM)
        if not old:
            raise ToolError(f"{name + '.' if name else ''}oldText must not be empty in {path}.")
        wanted.append(Edit(old, new, name))
    return wanted


def _located(path: str, file: TextFile, wanted: Sequence[Edit]) -> list[Found]:
    haystack = Haystack(file.text)
    found = []
    for edit in wanted:
        try:
            found.append(haystack.find(edit.old))
        except Occurrences as error:
            raise ToolError(_not_once(path, edit.name, error.count)) from None
    order = sorted(range(len(found)), key=lambda i: (found[i].start, found[i].end))
    for one, other in pairwise(order):
        if found[other].start < found[one].end:
            first, second = sorted((one, other))
            raise ToolError(f"edits[{first}] and edits[{second}] overlap in {path}. Join them, or choose other places.")
    return found


def _not_once(path: str, name: str, count: int) -> str:
    if count == 0:
        return (
            f"Could not find {name or 'the exact text'} in {path}. "
            "oldText must be in the file as written, with all blanks, indentation and line ends."
        )
    return (
        f"Found {count} occurrences of {name or 'the text'} in {path}. "
        "oldText must stand there only once: add text around it."
    )
