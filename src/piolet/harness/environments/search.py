"""Finding files and lines in any environment, by listing folders and reading files.

Gives what ripgrep and fd would. Sources: the tools specification, sections 6 and 7.
"""

from __future__ import annotations

import codecs
import posixpath
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, Protocol

from msgspec import Struct

from piolet.base.abort import AbortSignal
from piolet.harness.environments.automaton import LineMatcher, compile_pattern
from piolet.harness.environments.base import (
    DirectoryEntry,
    FileInfo,
    FindQuery,
    FindResult,
    GrepLine,
    GrepQuery,
    GrepResult,
)
from piolet.harness.environments.globs import glob_regex
from piolet.harness.environments.ignore import FOR_FIND, FOR_GREP, FolderRules, IgnoreFiles, Rule, bytewise, parse_rule
from piolet.harness.environments.patterns import parse

#: Characters of a line that a result keeps.
MAX_LINE: Final = 4096
_CHUNK: Final = 8 * 1024 * 1024


class Tree(Protocol):
    """What a search needs of an environment."""

    async def canonical(self, path: str) -> str: ...
    async def stat(self, path: str, *, follow: bool = True) -> FileInfo | None: ...
    async def list_directory(self, path: str) -> list[DirectoryEntry]: ...
    async def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes: ...


async def find(tree: Tree, query: FindQuery, signal: AbortSignal | None = None) -> FindResult:
    """Return the files and folders below a folder whose name or, for a pattern with ``/``, whose path matches."""
    pattern = query.pattern.removeprefix("./")
    smart_case = pattern == pattern.lower()
    regex = glob_regex(pattern or "**", ignore_case=smart_case)
    whole_path = "/" in pattern
    only = GlobFilter(query.glob) if query.glob else None
    found = []
    async for place in walk(tree, query.path, FOR_FIND, only, signal, follow=query.follow):
        if regex.match(place.path if whole_path else place.entry.name):
            found.append(place.path + ("/" if place.entry.kind == "directory" else ""))
    found.sort()
    return FindResult(found[: query.limit], limit_reached=len(found) > query.limit)


async def grep(tree: Tree, query: GrepQuery, signal: AbortSignal | None = None) -> GrepResult:
    """Return the lines that match, sorted by path; a path that is a file is searched whatever it is."""
    matcher = compile_pattern(parse(query.pattern, ignore_case=query.ignore_case, literal=query.literal))
    collector = GrepCollector(query)
    info = await tree.stat(query.path)
    if info is not None and info.kind != "directory":
        lines = await _search_file(tree, query.path, matcher, query, skip_binary=False)
        collector.add_file(posixpath.basename(query.path), lines)
        return collector.result()
    only = GlobFilter(query.glob) if query.glob else None
    async for place in walk(tree, query.path, FOR_GREP, only, signal):
        if place.entry.kind != "file":
            continue
        try:
            lines = await _search_file(tree, posixpath.join(query.path, place.path), matcher, query, skip_binary=True)
        except OSError:  # gone, or not ours to read
            continue
        if not collector.add_file(place.path, lines):
            break
    return collector.result()


class GlobFilter:
    """The `glob` of a query: keeps the files that it names, ignored or not, or with ``!`` leaves them out."""

    def __init__(self, glob: str) -> None:
        self._rule: Rule | None = parse_rule(glob)

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True to leave out, False to keep, None if the ignore files decide."""
        rule = self._rule
        if rule is None:
            return None
        matches = (is_folder or not rule.folders_only) and rule.regex.match(bytewise(path)) is not None
        if rule.keep:  # here "!" leaves out
            return True if matches else None
        return False if matches else None if is_folder else True


class FileLine(Struct, frozen=True):
    """A line of one file: its number from 1, its text without ending."""

    number: int
    text: str
    is_match: bool


class GrepCollector:
    """Takes the lines of file after file until enough of them match."""

    def __init__(self, query: GrepQuery) -> None:
        self._query = query
        self._lines: list[GrepLine] = []
        self._matches = 0
        self._limit_reached = False

    def add_file(self, path: str, lines: list[FileLine]) -> bool:
        """Take the lines of a file, in order, with their context; return False when no more are wanted."""
        waiting: list[GrepLine] = []  # context that belongs to the next match
        last_match: int | None = None
        for line in lines:
            found = GrepLine(path, line.number, line.text.removesuffix("\r"), line.is_match)
            behind = last_match is not None and line.number <= last_match + self._query.context
            if line.is_match and self._matches < self._query.limit:
                self._matches += 1
                last_match = line.number
                self._lines += [*waiting, found]
                waiting.clear()
            elif line.is_match:
                self._limit_reached = True
                if not behind:
                    break
                self._lines.append(GrepLine(path, line.number, found.text, False))
            elif behind:
                self._lines.append(found)
            else:
                waiting.append(found)
        return not self._limit_reached

    def result(self) -> GrepResult:
        return GrepResult(self._lines, self._limit_reached)


# --------------------------------------------------------------------------------------------------------------- walk


class Place(Struct, frozen=True):
    """An entry with its path relative to the searched folder."""

    path: str
    entry: DirectoryEntry


async def walk(
    tree: Tree,
    root: str,
    files: IgnoreFiles,
    only: GlobFilter | None,
    signal: AbortSignal | None,
    *,
    follow: bool = False,
) -> AsyncIterator[Place]:
    """Give everything below `root` that is not ignored: depth first, by name. With `follow`, see `FindQuery`."""
    real = await tree.canonical(root)
    stack = [await _open(tree, root, "", posixpath.basename(real), await rules_above(tree, real, files))]
    linked = {real}  # what was looked into through a link
    while stack:
        folder = stack[-1]
        entry = next(folder.entries, None)
        if entry is None:
            stack.pop()
            continue
        way = folder.way + entry.name
        is_link = follow and entry.target == "directory"
        if is_link:
            entry = DirectoryEntry(entry.name, "directory")
        if is_left_out(folder.rules, only, way, entry):
            continue
        if signal is not None:
            signal.throw_if_aborted()
        yield Place(way, entry)
        if is_link:
            target = await tree.canonical(posixpath.join(root, way))
            if target in linked or f"{real}/".startswith(f"{target.rstrip('/')}/"):
                continue
            linked.add(target)
        if entry.kind == "directory":
            try:
                stack.append(await _open(tree, posixpath.join(root, way), f"{way}/", entry.name, folder.rules))
            except OSError:  # gone, or closed to us
                continue


def is_left_out(rules: FolderRules, only: GlobFilter | None, way: str, entry: DirectoryEntry) -> bool:
    """Judge the entry of a folder whose `rules` are given; `way`: its path relative to the searched folder."""
    is_folder = entry.kind == "directory"
    verdict = only.verdict(way, is_folder=is_folder) if only is not None else None
    return rules.ignores(entry.name, is_folder=is_folder) if verdict is None else verdict


class _OpenFolder(Struct, frozen=True):
    """A folder that is being walked: the way to it with a final ``/``, its rules, the entries still to come."""

    way: str
    rules: FolderRules
    entries: Iterator[DirectoryEntry]


async def _open(tree: Tree, path: str, way: str, name: str, above: FolderRules) -> _OpenFolder:
    entries = await tree.list_directory(path)
    names = {entry.name for entry in entries if entry.name.startswith(".")}
    texts = await _ignore_texts(tree, path, [file for file in above.files.names if file in names])
    rules = above.enter(name, texts, has_git=".git" in names)
    return _OpenFolder(way, rules, iter(sorted(entries, key=_by_name)))


async def rules_above(tree: Tree, root: str, files: IgnoreFiles) -> FolderRules:
    """Return the rules of the folder that holds `root`, a path without links, as all the folders above make them."""
    rules = FolderRules.none(files)
    path = "/"
    for name in root.split("/")[:-1]:
        path = posixpath.join(path, name)
        texts = await _ignore_texts(tree, path, files.names)
        rules = rules.enter(name, texts, has_git=await _stands(tree, posixpath.join(path, ".git")))
    return rules


async def _stands(tree: Tree, path: str) -> bool:
    try:
        return await tree.stat(path) is not None
    except OSError:  # a loop of links, or in a folder that is closed to us
        return False


async def _ignore_texts(tree: Tree, folder: str, names: Sequence[str]) -> dict[str, str]:
    texts = {}
    for name in names:
        try:
            data = await tree.read_bytes(posixpath.join(folder, name))
        except OSError:  # there is none, or a folder of that name, or it is not ours to read
            continue
        texts[name] = data.decode("utf-8", "surrogateescape")
    return texts


def _by_name(entry: DirectoryEntry) -> bytes:
    return entry.name.encode("utf-8", "surrogateescape")


# -------------------------------------------------------------------------------------------------------------- files


async def _search_file(
    tree: Tree, path: str, matcher: LineMatcher, query: GrepQuery, *, skip_binary: bool
) -> list[FileLine]:
    """Return the lines of one file that match, one more than the limit at most, with context.

    UTF-16 with a byte order mark is decoded, of UTF-8 the mark is dropped. With `skip_binary` a file with a NUL gives
    nothing.
    """
    scan = _FileScan(matcher, query.context, query.limit + 1)
    position, rest = 0, b""
    while not scan.is_full:
        chunk = await tree.read_bytes(path, offset=position, limit=_CHUNK)
        is_last = len(chunk) < _CHUNK
        if position == 0:
            if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                chunk, is_last = await _utf16_as_utf8(tree, path, chunk, is_last), True
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        if skip_binary and b"\0" in chunk:
            return []
        position += _CHUNK
        data = rest + chunk
        end = len(data) if is_last else data.rfind(b"\n") + 1
        scan.feed(data[:end].decode("utf-8", "surrogateescape"))
        rest = data[end:]
        if is_last:
            break
    return scan.lines


async def _utf16_as_utf8(tree: Tree, path: str, data: bytes, is_all: bool) -> bytes:
    if not is_all:
        data = await tree.read_bytes(path)
    return data.decode("utf-16", "replace").encode("utf-8", "replace")


class _FileScan:
    """Finds lines in a file that comes in pieces of whole lines."""

    def __init__(self, matcher: LineMatcher, context: int, limit: int) -> None:
        self.lines: list[FileLine] = []
        self._matcher = matcher
        self._context = context
        self._wanted = limit
        self._next_number = 1
        self._before: deque[str] = deque(maxlen=context)
        self._after = 0  # lines of context still to come behind the last match

    @property
    def is_full(self) -> bool:
        return self._wanted == 0 and self._after == 0

    def feed(self, text: str) -> None:
        position = 0
        starts = self._matcher.lines(text)
        while self._wanted:
            start = next(starts, -1)
            if start < 0:
                break
            self._pass(text, position, start)
            end = _line_end(text, start)
            first = self._next_number - len(self._before)
            self.lines += [_file_line(first + i, line, False) for i, line in enumerate(self._before)]
            self.lines.append(_file_line(self._next_number, text[start:end], True))
            self._before.clear()
            self._next_number += 1
            self._after = self._context
            self._wanted -= 1
            position = end + 1
        self._pass(text, position, len(text))

    def _pass(self, text: str, position: int, end: int) -> None:
        """Go over lines that do not match: some are context of the match before, some may be of the next one."""
        while position < end and self._after:
            line_end = _line_end(text, position)
            self.lines.append(_file_line(self._next_number, text[position:line_end], False))
            self._next_number += 1
            self._after -= 1
            position = line_end + 1
        if position >= end:
            return
        if self._context:
            body = text[position:end].removesuffix("\n")
            self._before.extend(body.rsplit("\n", self._context)[-self._context :])
        self._next_number += text.count("\n", position, end) + (not text.endswith("\n", position, end))


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _file_line(number: int, text: str, is_match: bool) -> FileLine:
    readable = text[:MAX_LINE].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return FileLine(number, readable, is_match)
