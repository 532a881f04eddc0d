"""The two settings files: read with old keys migrated, written under a lock, one key at a time.

Source of the rules: the resources specification, sections 8 and 12. Other programs write the same files at the same
time, so a write reads the file again and changes nothing but the key that it is about (and old ones, see `migrate`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from piolet.app.json_files import (
    indented,
    make_folder_for,
    parse_object,
    read_object,
    read_text,
    reason,
    unusable,
    write_text,
)
from piolet.app.settings import Key, Settings, SettingsError
from piolet.app.settings_spelling import misspelled
from piolet.base.dirlock import LockError, dir_lock

T = TypeVar("T")
Scope: TypeAlias = Literal["user", "project"]


class SettingsProblem(Struct, frozen=True):
    """A file that could not be used and counts as empty."""

    scope: Scope
    path: Path
    message: str


class SettingsDoubt(Struct, frozen=True):
    """What in a file counts for nothing and hardly was meant to. `may_choose_place`: it may say where tools act."""

    scope: Scope
    message: str
    may_choose_place: bool = False


class SettingsFiles:
    """``settings.json`` of the agent folder and of the project's ``.pi``; `settings` is the view of both.

    Without trust the project's file is neither read nor written.
    """

    def __init__(self, agent_dir: Path, cwd: Path, *, project_trusted: bool) -> None:
        self.paths: Mapping[Scope, Path] = {
            "user": agent_dir / "settings.json",
            "project": cwd / ".pi" / "settings.json",
        }
        self.project_trusted = project_trusted
        self.problems: list[SettingsProblem] = []
        self.doubts: list[SettingsDoubt] = []
        self.settings = Settings()
        self.reload()

    def reload(self) -> None:
        """Read the files again; `problems` tells of files that could not be used, `doubts` of what is in others."""
        self.problems, self.doubts = [], []
        self.settings.replace(self._read("user"), self._read("project") if self.project_trusted else {})

    def set(self, key: Key[T], value: T | None, scope: Scope = "user") -> None:
        """Write one setting; None removes it. A number is clamped to the key's limits."""
        if key.limits and isinstance(value, int):
            low, high = key.limits
            self.write(key.path.split("."), min(max(value, low), high), scope)
        else:
            self.write(key.path.split("."), value, scope)

    def write(self, path: Sequence[str], value: Any, scope: Scope = "user") -> None:
        """Write the JSON `value` at `path`; None removes what is there.

        Raises `SettingsError` when the file is broken, locked or not writable, or the project is not trusted.
        """
        file = self.paths[scope]
        if scope == "project" and not self.project_trusted:
            raise SettingsError(f"{file} was not written: the project is not trusted (see /trust)")
        private = scope == "user"
        try:
            make_folder_for(file, private=private)
            with dir_lock(file) as lock:
                values = read_object(file, locked=True)
                migrate(values)
                _put(values, path, value)
                lock.check()
                write_text(file, indented(values), private=private)
        except ValueError as error:
            raise SettingsError(f"{file} was not written: {reason(error)}. Repair it, or move it away") from error
        except (OSError, LockError) as error:
            raise SettingsError(f"{file} was not written: {reason(error)}") from error
        user, project = self.settings.user, self.settings.project
        self.settings.replace(values if scope == "user" else user, values if scope == "project" else project)

    def remove_empty(self, scope: Scope) -> None:
        """Delete the file of a scope if it says nothing, and a project's ``.pi`` that is empty then."""
        file = self.paths[scope]
        try:
            with dir_lock(file):
                text = read_text(file)
                if text is not None and parse_object(text) == {}:
                    file.unlink()
            if scope == "project":
                file.parent.rmdir()
        except (OSError, ValueError, LockError):
            pass  # it says something, or is needed by others

    def _read(self, scope: Scope) -> dict[str, Any]:
        file = self.paths[scope]
        try:
            values = read_object(file)
            if file.is_symlink() and not file.exists():
                raise ValueError("it is a link that leads nowhere")
            if not values and read_text(file) == "":
                self.doubts.append(SettingsDoubt(scope, f"{file} is empty; without settings it holds {{}}"))
        except (OSError, ValueError) as error:
            self.problems.append(SettingsProblem(scope, file, unusable(file, error)))
            return {}
        migrate(values)
        for key in misspelled(values):
            self.doubts.append(SettingsDoubt(scope, f"{file}: {key}", key.may_choose_place))
        return values


def migrate(values: dict[str, Any]) -> None:
    """Replace old keys by the present ones, in place; a present key that exists already stays as it is."""
    if "queueMode" in values and "steeringMode" not in values:
        values["steeringMode"] = values.pop("queueMode")
    if isinstance(values.get("websockets"), bool) and "transport" not in values:
        values["transport"] = "websocket" if values.pop("websockets") else "sse"
    skills = values.get("skills")
    if isinstance(skills, dict):
        if "enableSkillCommands" in skills:
            values.setdefault("enableSkillCommands", skills["enableSkillCommands"])
        folders = skills.get("customDirectories")
        if isinstance(folders, list) and folders:
            values["skills"] = folders
        else:
            del values["skills"]
    retry = values.get("retry")
    if isinstance(retry, dict) and "maxDelayMs" in retry:
        delay = retry.pop("maxDelayMs")
        provider = retry.get("provider")
        provider = provider if isinstance(provider, dict) else {}
        if isinstance(delay, int | float) and "maxRetryDelayMs" not in provider:
            retry["provider"] = {**provider, "maxRetryDelayMs": delay}


def _put(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set or, with None, remove the value at `path`; what stands in the way and is no object is replaced."""
    *parents, last = path
    for name in parents:
        inner = values.get(name)
        if not isinstance(inner, dict):
            if value is None:
                return
            inner = values[name] = {}
        values = inner
    if value is None:
        values.pop(last, None)
    else:
        values[last] = value
