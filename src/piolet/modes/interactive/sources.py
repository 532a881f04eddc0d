"""What the editor completes: commands, files of the environment, entries of folders."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from piolet.app.commands import Command
from piolet.base.abort import AbortController
from piolet.harness.environments.base import FindQuery
from piolet.harness.hooks import HookFailure
from piolet.modes.interactive.commands.table import COMMANDS
from piolet.tui.completion import CommandInfo, Sources, Suggestion

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

Completion = Callable[[str], Awaitable[Sequence[Suggestion]]]

_ORIGINS = {"user": "u", "project": "p", "temporary": "t"}


def sources(face: Face) -> Sources:
    """Return where the editor finds what to suggest; nothing before the runtime is there."""

    def commands() -> Sequence[CommandInfo]:
        if not face.ready:
            return []
        own = [
            CommandInfo(one.name, one.description, one.hint, arguments=one.completion(face))
            for one in COMMANDS
            if not one.hidden
        ]
        settings = face.runtime.services.settings
        found = [
            _info(command, _completion(face, command))
            for command in face.runtime.session.commands.list()
            if command.source != "skill" or settings.enable_skill_commands
        ]
        return [*own, *found]

    async def find(folder: str, part: str) -> Sequence[str]:
        if not face.ready:
            return []
        environment = face.runtime.services.environment
        pattern = f"*{_literal(part)}*" if part else "*"
        query = FindQuery(pattern, await environment.resolve(folder or "."), glob="!.git", follow=True)
        abort = AbortController()
        try:
            return (await environment.find(query, abort.signal)).paths
        finally:  # when the next key is there, nobody waits for this search any more
            abort.abort()

    async def names(folder: str) -> Sequence[str]:
        if not face.ready:
            return []
        environment = face.runtime.services.environment
        entries = await environment.list_directory(await environment.resolve(folder))
        return [one.name + "/" if "directory" in (one.kind, one.target) else one.name for one in entries]

    return Sources(commands, find, names)


def _info(command: Command, arguments: Completion | None) -> CommandInfo:
    origin = command.info.source if command.info.origin == "package" else _ORIGINS[command.info.scope]
    return CommandInfo(
        command.name, command.description, command.argument_hint or "", os.path.basename(origin), arguments
    )


def _completion(face: Face, command: Command) -> Completion | None:
    """Return what completes the text behind the name of an extension's command; None if it completes nothing."""
    found = face.runtime.session.commands.find(f"/{command.name}") if command.source == "extension" else None
    if found is None or (complete := found[0].complete) is None:
        return None
    owner = found[0].owner

    async def arguments(prefix: str) -> Sequence[Suggestion]:
        try:
            items = complete(prefix)
            if inspect.isawaitable(items):
                items = await items
            pairs = [
                (item, item, "") if isinstance(item, str) else (item.value, item.label, item.description)
                for item in items or ()
            ]
        except Exception as error:
            face.runtime.hooks.report(HookFailure(f"complete:{command.name}", owner, None, error, 0))
            return []
        return [Suggestion(value, label or value, description) for value, label, description in pairs]

    return arguments


def _literal(text: str) -> str:
    """Return `text` as a pattern that matches itself, in any case."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", text.lower())
