"""Patterns that switch single resources on and off: plain globs, ``!glob``, ``+path``, ``-path``. Pure.

Source of the rules: the resources specification, section 11.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from piolet.harness.environments.base import InvalidPattern
from piolet.harness.environments.globs import glob_regex


class Patterns(Struct, frozen=True):
    """The patterns of one list, by kind. Globs may match at several places of a path, exact ones only the whole."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_on: tuple[str, ...] = ()
    force_off: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Patterns:
        """Sort the entries of a list by their first character."""
        kinds: dict[str, list[str]] = {"!": [], "+": [], "-": [], "": []}
        for entry in entries:
            sign = entry[:1] if entry[:1] in ("!", "+", "-") else ""
            kinds[sign].append(entry[len(sign) :])
        return cls(tuple(kinds[""]), tuple(kinds["!"]), tuple(kinds["+"]), tuple(kinds["-"]))

    def decide(self, path: str, base: str) -> bool | None:
        """Return what the patterns say about the file `path`; None if they say nothing. Both paths are absolute."""
        state = True if matches_any(self.include, path, base) else None
        if matches_any(self.exclude, path, base):
            state = False
        if _is_one_of(self.force_on, path, base):
            state = True
        if _is_one_of(self.force_off, path, base):
            state = False
        return state

    def allows(self, path: str, base: str) -> bool:
        """Return whether `path` is on: everything is, as long as no plain pattern asks for less."""
        state = self.decide(path, base)
        return not self.include if state is None else state


def matches_any(globs: Iterable[str], path: str, base: str) -> bool:
    """Return whether one of `globs` matches `path`: relative to `base`, by its name or as a whole; see `_faces`."""
    return any(path_regex(glob).fullmatch(face) for glob in globs for face in _faces(path, base, names=True))


def is_glob(text: str) -> bool:
    """Whether `text` holds a character that is special in globs."""
    return re.search(r"[*?\[{]", text) is not None


@lru_cache(maxsize=256)
def path_regex(glob: str) -> re.Pattern[str]:
    """Return what a path must match; names with a leading dot need one in `glob`. A bad glob means its own text."""
    try:
        return glob_regex(glob, dot_names=False)
    except InvalidPattern:
        return re.compile(re.escape(glob))


def _faces(path: str, base: str, *, names: bool) -> list[str]:
    """The texts that stand for a file: its path from `base`, its whole path, its name; of SKILL.md its folder's too."""
    stands_for = [path]
    if posixpath.basename(path) == "SKILL.md":
        stands_for.append(posixpath.dirname(path))
    faces = []
    for item in stands_for:
        faces += [posixpath.relpath(item, base), item]
        if names:
            faces.append(posixpath.basename(item))
    return faces


def _is_one_of(exact: Iterable[str], path: str, base: str) -> bool:
    wanted = {text.removeprefix("./").removesuffix("/") for text in exact}
    return bool(wanted) and not wanted.isdisjoint(_faces(path, base, names=False))
