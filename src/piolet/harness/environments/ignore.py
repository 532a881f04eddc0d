"""Which files a search leaves out: the rules of ``.gitignore`` and its relatives, as ripgrep and fd apply them.

Every entry is judged by itself, from its own folder up: for each kind of file the nearest rule decides, the last one
in a file wins, ``!`` keeps. What is inside an ignored folder is left out only because nobody goes there. Sources: the
tools specification, sections 6 and 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from piolet.harness.environments.base import InvalidPattern
from piolet.harness.environments.globs import glob_regex


class Rule(Struct, frozen=True):
    """One line. `keep`: it begins with ``!``. `folders_only`: it ends in ``/``."""

    regex: re.Pattern[str]
    keep: bool
    folders_only: bool


class RuleSet:
    """The rules of one file, about paths relative to its folder."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(reversed(rules))
        self._any = re.compile("|".join(rule.regex.pattern for rule in rules) or r"(?!)", re.DOTALL)

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True to ignore, False to keep, None if no rule speaks of the path."""
        path = bytewise(path)
        if self._any.match(path) is None:
            return None
        for rule in self._rules:
            if (is_folder or not rule.folders_only) and rule.regex.match(path):
                return not rule.keep
        return None


def parse_rules(text: str) -> RuleSet:
    """Return the rules of an ignore file. Lines that make no sense are passed over, as git does."""
    rules = []
    for line in text.removeprefix("\ufeff").split("\n"):
        try:
            rule = parse_rule(line.removesuffix("\r"))
        except InvalidPattern:
            continue
        if rule is not None:
            rules.append(rule)
    return RuleSet(rules)


def bytewise(text: str) -> str:
    """Return `text` with a character for each byte of its UTF-8: to git and ripgrep ``?`` is one byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def parse_rule(line: str) -> Rule | None:
    """Return the rule of one line, None for a comment or a blank line. `InvalidPattern` as for globs."""
    if line.startswith("#"):
        return None
    if not line.endswith("\\ "):
        line = line.rstrip()
    keep = line.startswith("!")
    pattern = line.removeprefix("!") if keep else line
    anchored = pattern.startswith("/")
    pattern = pattern.removeprefix("/")
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    regex = glob_regex(bytewise(pattern), any_depth=not anchored and "/" not in pattern)
    return Rule(regex, keep, folders_only)


class IgnoreFiles(Struct, frozen=True):
    """Names of ignore files, the strongest first. ``.gitignore`` is always the last.

    `needs_repository`: ``.gitignore`` counts only within a git repository. It never reaches into one from outside.
    """

    names: tuple[str, ...]
    needs_repository: bool


#: For the search of contents, and for the search of names.
FOR_GREP = IgnoreFiles((".rgignore", ".ignore", ".gitignore"), needs_repository=True)
FOR_FIND = IgnoreFiles((".fdignore", ".ignore", ".gitignore"), needs_repository=False)

#: A rule set with the way from its folder to the folder where it is applied.
_Placed: TypeAlias = tuple[str, RuleSet]


class FolderRules(Struct, frozen=True):
    """The rules that hold in a folder: for each name of ignore file, the nearest first."""

    files: IgnoreFiles
    placed: tuple[tuple[_Placed, ...], ...]
    in_repository: bool

    @classmethod
    def none(cls, files: IgnoreFiles) -> FolderRules:
        """Return the state above the topmost folder."""
        return cls(files, ((),) * len(files.names), False)

    def enter(self, name: str, texts: Mapping[str, str], *, has_git: bool) -> FolderRules:
        """Return the rules of the folder `name` in this one; `texts`: its ignore files, `has_git`: it has ``.git``."""
        in_repository = self.in_repository or has_git
        placed = []
        for file, outer in zip(self.files.names, self.placed, strict=True):
            is_git = file == ".gitignore"
            rules = [] if is_git and has_git else [(f"{way}{name}/", rule_set) for way, rule_set in outer]
            counts = not is_git or in_repository or not self.files.needs_repository
            if counts and file in texts:
                rules.insert(0, ("", parse_rules(texts[file])))
            placed.append(tuple(rules))
        return FolderRules(self.files, tuple(placed), in_repository)

    def ignores(self, name: str, *, is_folder: bool) -> bool:
        """Judge an entry of this folder."""
        for placed in self.placed:
            for way, rule_set in placed:
                verdict = rule_set.verdict(way + name, is_folder=is_folder)
                if verdict is not None:
                    return verdict
        return False
