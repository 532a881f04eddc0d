"""Commands that a prompt can call by ``/name``: those of extensions, prompt templates and skills, in this order.

The built-in commands of a screen are its own matter. Templates and skills only stand here to be listed and completed:
calling them means expanding the prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from piolet.app.packages.manifest import Kind
from piolet.app.resources.loader import Resources
from piolet.harness.prompt.skills import COMMAND_PREFIX

if TYPE_CHECKING:
    from piolet.app.extensions.definitions import Completer


class SourceInfo(Struct, frozen=True):
    """Where a resource comes from. `source`: "auto", "local" or a package's source string; `base_dir`: its root."""

    path: str
    source: str
    scope: Literal["user", "project", "temporary"]
    origin: Literal["top-level", "package"]
    base_dir: str | None = None


class Command(Struct, frozen=True):
    """What can be called. `name` has no slash."""

    name: str
    description: str
    source: Literal["extension", "prompt", "skill"]
    info: SourceInfo
    argument_hint: str | None = None


class ExtensionCommand(Struct, frozen=True, eq=False):
    """A command that runs code: `run` gets the text behind its name; `owner` is named when it fails. `complete`
    proposes arguments that begin with a text."""

    command: Command
    run: Callable[[str], Awaitable[None]]
    owner: object = None
    complete: Completer | None = None


class Commands:
    """The commands of one session. `resources` gives the templates and skills as they are now."""

    def __init__(self, resources: Callable[[], Resources]) -> None:
        self._resources = resources
        self._extensions: list[ExtensionCommand] = []

    def add(self, command: ExtensionCommand) -> Callable[[], None]:
        """Add the command of an extension; return a function that takes it away."""
        self._extensions.append(command)
        return lambda: self._extensions.remove(command) if command in self._extensions else None

    def find(self, text: str) -> tuple[ExtensionCommand, str] | None:
        """Return the command of an extension that ``/name rest`` calls, and the rest; None if it calls none."""
        match = re.match(r"/(\S+)(?:\s(.*))?\Z", text, re.DOTALL)
        if match is None:
            return None
        for extension in self._extensions:
            if extension.command.name == match[1]:
                return extension, match[2] or ""
        return None

    def list(self) -> Sequence[Command]:
        """Return all commands."""
        resources = self._resources()
        templates = [
            Command(one.name, one.description, "prompt", _info(resources, "prompts", one.path), one.argument_hint)
            for one in resources.templates
        ]
        skills = [
            Command(
                COMMAND_PREFIX.removeprefix("/") + one.name,
                one.description,
                "skill",
                _info(resources, "skills", one.path),
            )
            for one in resources.skills
        ]
        return [*(extension.command for extension in self._extensions), *templates, *skills]


def _info(resources: Resources, kind: Kind, path: str) -> SourceInfo:
    for resource in resources.found.resources[kind]:
        if resource.path == path:
            return SourceInfo(path, resource.source, resource.scope, resource.origin, resource.base)
    return SourceInfo(path, "local", "temporary", "top-level", os.path.dirname(path))
