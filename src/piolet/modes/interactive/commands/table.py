"""The built-in slash commands: names, what they do, where they are written."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from piolet.tui.completion import Suggestion

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

_PACKAGE = "piolet.modes.interactive.commands"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A command. `where`: ``module:function`` in this package, called with the face and the text behind the name;
    imported when it is called. `completes`: a function that completes that text, written the same way."""

    name: str
    description: str
    where: str
    hint: str = ""
    completes: str = ""
    hidden: bool = False

    async def run(self, face: Face, rest: str) -> None:
        """Do it. Raises what `face.EXPECTED` lists."""
        await _function(self.where)(face, rest)

    def completion(self, face: Face) -> Callable[[str], Awaitable[Sequence[Suggestion]]] | None:
        """Return what completes the text behind the name."""
        return partial(self._complete, face) if self.completes else None

    async def _complete(self, face: Face, prefix: str) -> Sequence[Suggestion]:
        found: Sequence[Suggestion] = await _function(self.completes)(face, prefix)
        return found


def _function(where: str) -> Callable[..., Awaitable[Any]]:
    module, _, name = where.partition(":")
    function: Callable[..., Awaitable[Any]] = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
    return function


COMMANDS: tuple[BuiltIn, ...] = (
    BuiltIn("settings", "Change settings", "settings:settings"),
    BuiltIn("model", "Choose the model", "models:model", "[provider/model]", "models:complete_model"),
    BuiltIn("tree", "Walk the session tree, go on from another place", "tree:tree"),
    BuiltIn("thinking", "Choose how much the model thinks", "thinking:thinking", "[level]", "thinking:complete_level"),
    BuiltIn("scoped-models", "Choose the models of the model keys", "scoped_models:scoped_models"),
    BuiltIn("export", "Write the session as a page, or as JSONL", "files:export", "[path]"),
    BuiltIn("import", "Open a copy of a session file", "files:import_", "<path.jsonl>"),
    BuiltIn("copy", "Copy the last answer", "program:copy"),
    BuiltIn("name", "Name the session, or show its name", "sessions:name", "[name]"),
    BuiltIn("session", "Show what the session has used", "sessions:session"),
    BuiltIn("changelog", "Show what has changed in piolet", "program:changelog"),
    BuiltIn("hotkeys", "Search the keys", "program:show_hotkeys"),
    BuiltIn("fork", "Go on in a copy, from before a message", "sessions:fork"),
    BuiltIn("clone", "Go on in a copy of this branch", "sessions:clone"),
    BuiltIn("trust", "Decide whether the project's files are loaded", "trust:trust"),
    BuiltIn("login", "Sign in, or store a key", "login:login", "[provider]", "login:complete_provider"),
    BuiltIn("logout", "Remove stored credentials", "login:logout"),
    BuiltIn("new", "Begin a new session", "sessions:new"),
    BuiltIn("compact", "Summarize what is old to make room", "sessions:compact", "[instructions]"),
    BuiltIn("resume", "Open another session", "resume:resume"),
    BuiltIn("reload", "Read settings, keys, skills, prompts and themes again", "program:reload"),
    BuiltIn("quit", "Leave", "program:quit_"),
    BuiltIn("debug", "Write what is on the screen to a file", "program:debug", hidden=True),
)


def find(name: str) -> BuiltIn | None:
    """Return the command `name`."""
    return next((command for command in COMMANDS if command.name == name), None)
