"""Completion in the editor: what is being typed, what could be meant, and what is then inserted (specification,
section 4). Where names come from is told by callables.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from piolet.tui.fuzzy import score_words

FILE_LIMIT = 20
SKILL = "skill:"

RequestKind: TypeAlias = Literal["command", "argument", "mention", "path", "trigger"]

_command = re.compile(r"/[^\s/]*\Z")
_argument = re.compile(r"/(?P<name>[^\s/]+)[ \t]+(?P<prefix>.*)\Z")
_mention = re.compile(r'(?:^|(?<=[\s(]))@(?:"[^"]*|[^\s"]*)\Z')
_path = re.compile(r'(?:^|(?<=[\s="(]))(?:\.{1,2}/|~/|/)[^\s"]*\Z')
_any_token = re.compile(r"\S*\Z")


@dataclass(frozen=True, slots=True)
class Request:
    """What is completed. `token`: the text before the cursor that a suggestion takes the place of; `query`: what was
    typed of the name; `command`: whose argument it is; `trigger`: the sign that the token begins with."""

    kind: RequestKind
    token: str
    query: str
    command: str = ""
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`text` takes the place of the token. `goes_on`: more is expected (a folder), so the list opens again."""

    text: str
    label: str
    description: str = ""
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """A command. `origin`: a short tag of where it comes from (``u``, ``p``, a package). `arguments` completes them."""

    name: str
    description: str = ""
    hint: str = ""
    origin: str = ""
    arguments: Callable[[str], Awaitable[Sequence[Suggestion]]] | None = None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where names come from. Folders end in ``/``, paths are relative to the folder asked for.

    `find(folder, part)`: files and folders below `folder` that could match `part`; `names(folder)`: what stands in it.
    `triggers`: what completes words that begin with a sign, from what was typed behind it.
    """

    commands: Callable[[], Sequence[CommandInfo]]
    find: Callable[[str, str], Awaitable[Sequence[str]]]
    names: Callable[[str], Awaitable[Sequence[str]]]
    triggers: Mapping[str, Callable[[str], Awaitable[Sequence[Suggestion]]]] = field(default_factory=dict)


def request_at(text: str, *, first: bool = True, forced: bool = False, triggers: Iterable[str] = ()) -> Request | None:
    """Return what is completed at the end of `text`, a line up to the cursor; None if nothing.

    `first`: the line begins the message, so it may be a command. `forced`: the user asked for a path (Tab), so any word
    is one. `triggers`: signs that extensions complete the words behind.
    """
    word = text[max(text.rfind(blank) for blank in " \t(") + 1 :]
    for trigger in triggers:
        if word.startswith(trigger):
            return Request("trigger", word, word[len(trigger) :], trigger=trigger)
    if first and not forced and _command.match(text):
        return Request("command", text, text[1:])
    if match := _mention.search(text):
        return Request("mention", match[0], match[0][1:].removeprefix('"'))
    if first and not forced and (match := _argument.match(text)):
        return Request("argument", match["prefix"], match["prefix"], match["name"])
    match = _path.search(text) or (_any_token.search(text) if forced else None)
    return Request("path", match[0], match[0]) if match else None


async def complete(request: Request, sources: Sources) -> list[Suggestion]:
    """Return what could be meant, best first."""
    match request.kind:
        case "command":
            return [_command_suggestion(command) for command in rank_commands(request.query, sources.commands())]
        case "argument":
            return await _arguments(request, sources)
        case "mention":
            folder, part = split_path(request.query)
            return [mention(folder + path) for path in rank_files(part, await sources.find(folder, part))]
        case "path":
            folder, part = split_path(request.query)
            return [_path_suggestion(folder, name) for name in rank_names(part, await sources.names(folder or "."))]
        case "trigger":
            return list(await sources.triggers[request.trigger](request.query))


def split_path(path: str) -> tuple[str, str]:
    """Return the folder of `path`, with its slash, and the rest."""
    folder, slash, name = path.rpartition("/")
    return folder + slash, name


# ------------------------------------------------------------------------------------------------------------- ranking


def rank_commands(query: str, commands: Sequence[CommandInfo]) -> list[CommandInfo]:
    """Return the commands that fit, best first; a skill fits by its name with or without ``skill:``."""
    if not query:
        return list(commands)
    scored: list[tuple[float, CommandInfo]] = []
    for command in commands:
        names = {command.name, command.name.removeprefix(SKILL)}
        found = [score for name in names if (score := score_words(query, name)) is not None]
        if found:
            scored.append((min(found), command))
    scored.sort(key=lambda pair: pair[0])
    return [command for _, command in scored]


def begins_command(query: str, name: str) -> bool:
    """Whether the command `name` begins with `query`, a skill also without ``skill:``. Case does not count."""
    query, name = query.lower(), name.lower()
    return name.startswith(query) or name.removeprefix(SKILL).startswith(query)


def rank_files(part: str, paths: Iterable[str]) -> list[str]:
    """Return the best `FILE_LIMIT` of the paths that hold `part`: by the same name, its beginning, a part of it, or
    the path; folders before files."""
    part = part.lower()
    scored: list[tuple[int, str]] = []
    for path in paths:
        lower = path.lower().rstrip("/")
        name = lower.rpartition("/")[2]
        if not part or name == part:
            score = 100
        elif name.startswith(part):
            score = 80
        elif part in name:
            score = 50
        elif part in lower:
            score = 30
        else:
            continue
        scored.append((score + (10 if path.endswith("/") else 0), path))
    scored.sort(key=lambda pair: -pair[0])
    return [path for _, path in scored[:FILE_LIMIT]]


def rank_names(part: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with `part` in any case: folders first, then by name. Hidden ones only on demand."""
    part = part.lower()
    fitting = [n for n in names if n.lower().startswith(part) and (part.startswith(".") or not n.startswith("."))]
    return sorted(fitting, key=lambda name: (not name.endswith("/"), name.lower()))


# ----------------------------------------------------------------------------------------------------------- insertion


def _command_suggestion(command: CommandInfo) -> Suggestion:
    description = " — ".join(filter(None, (command.hint, command.description)))
    origin = f"[{command.origin}] " if command.origin else ""
    return Suggestion(f"/{command.name} ", command.name, origin + description)


async def _arguments(request: Request, sources: Sources) -> list[Suggestion]:
    for command in sources.commands():
        if command.name == request.command and command.arguments is not None:
            return list(await command.arguments(request.query))
    return []


def mention(path: str) -> Suggestion:
    """Return the suggestion of a file or folder behind ``@``: quoted if it has blanks, an open end for a folder."""
    folder = path.endswith("/")
    name = path.rstrip("/").rpartition("/")[2] + ("/" if folder else "")
    if any(char.isspace() for char in path):
        text = f'@"{path}' + ("" if folder else '" ')
    else:
        text = f"@{path}" + ("" if folder else " ")
    return Suggestion(text, name, path, folder)


def _path_suggestion(folder: str, name: str) -> Suggestion:
    is_folder = name.endswith("/")
    return Suggestion(folder + name, name, goes_on=is_folder)
