"""Whether a project's own files may be loaded: when that is asked, who decides, where the answer is kept.

Source of the rules: the resources specification, section 10.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

from piolet.app.json_files import indented, make_folder_for, read_object, reason, unusable, write_text
from piolet.app.settings import DefaultProjectTrust
from piolet.base.dirlock import LockError, dir_lock
from piolet.harness.hooks import Hook, Hooks

ASKING_FILES = (
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)

Answer: TypeAlias = Literal["yes", "no", "undecided"]


class TrustError(Exception):
    """``trust.json`` cannot be read or written; the text names the file."""


class TrustOption(Struct, frozen=True):
    """One of the answers that a user can choose. `saves`: what is written, path to decision (None removes)."""

    label: str
    trusted: bool
    saves: Mapping[str, bool | None] = {}


#: Shows the options for the folder and returns the chosen one; None when the question was dismissed.
Ask: TypeAlias = Callable[[str, Sequence[TrustOption]], Awaitable[TrustOption | None]]


class TrustDecision(Struct, frozen=True):
    """What a handler of ``project_trust`` returns. `remember`: the answer is saved."""

    trusted: Answer
    remember: bool = False


class ProjectTrustEvent(Struct, frozen=True):
    """A decision is needed for the folder `cwd`. The first yes or no wins."""

    cwd: str
    decision: TrustDecision = TrustDecision("undecided")


def _take_in(event: ProjectTrustEvent, result: TrustDecision | Mapping[str, Any]) -> ProjectTrustEvent:
    if isinstance(result, Mapping):
        result = TrustDecision(result.get("trusted", "undecided"), bool(result.get("remember", False)))
    return structs.replace(event, decision=result)


PROJECT_TRUST: Hook[ProjectTrustEvent, TrustDecision | Mapping[str, Any]] = Hook(
    "project_trust", fold=_take_in, done=lambda event: event.decision.trusted in ("yes", "no")
)


class TrustStore:
    """``trust.json`` of the agent folder: decisions by real path. Read anew each time; written under its lock."""

    def __init__(self, agent_dir: Path) -> None:
        self.path = agent_dir / "trust.json"

    def read(self, *, locked: bool = False) -> dict[str, bool | None]:
        """Return all entries; `locked`: we hold the file's lock. Raises `TrustError`."""
        try:
            entries = read_object(self.path, locked=locked)
        except (OSError, ValueError) as error:
            raise TrustError(unusable(self.path, error)) from error
        for path, decision in entries.items():
            if decision is not None and not isinstance(decision, bool):
                wrong = ValueError(f"the entry {path!r} is neither true, false nor null")
                raise TrustError(unusable(self.path, wrong))
        return entries

    def nearest(self, folder: Path) -> bool | None:
        """Return the decision for the real `folder` or the nearest one above it; None if there is none."""
        entries = self.read()
        real = _real(folder)
        decisions = (entries.get(str(place)) for place in (real, *real.parents))
        return next((decision for decision in decisions if decision is not None), None)

    def save(self, changes: Mapping[str, bool | None]) -> None:
        """Write decisions for real paths; None removes one. Raises `TrustError`."""
        try:
            make_folder_for(self.path, private=True)
            with dir_lock(self.path) as lock:
                entries = self.read(locked=True) | {
                    os.path.realpath(path): decision for path, decision in changes.items()
                }
                removed = {os.path.realpath(path) for path, decision in changes.items() if decision is None}
                entries = {path: entries[path] for path in sorted(entries.keys() - removed)}
                lock.check()
                write_text(self.path, indented(entries) + "\n", private=True)
        except (OSError, LockError) as error:
            raise TrustError(f"{self.path} was not written: {reason(error)}") from error


class ProjectTrust:
    """Decides about folders, each once in the life of the process. `flag`: ``--approve`` or ``--no-approve``.

    `unsaved`: for the user, why answers that should have been saved hold for this process only.
    """

    def __init__(self, agent_dir: Path, home: Path, *, flag: bool | None = None) -> None:
        self.store = TrustStore(agent_dir)
        self._home = home
        self._flag = flag
        self._decided: dict[str, bool] = {}
        self.unsaved: list[str] = []

    async def decide(
        self,
        cwd: Path,
        *,
        default: DefaultProjectTrust = "ask",
        hooks: Hooks | None = None,
        ask: Ask | None = None,
        alone: bool = False,
    ) -> bool:
        """Return whether the files of `cwd` may be loaded.

        `hooks` are asked first, then the saved decision and the `default` of the user's settings count; without `ask`
        an open question means no. `alone`: trust in a folder above does not count. Raises `TrustError`.
        """
        folder = str(_real(cwd))
        if folder not in self._decided:
            self._decided[folder] = await self._decide(folder, default, hooks, ask, alone)
        return self._decided[folder]

    def asks_hooks(self, cwd: Path) -> bool:
        """Return whether `decide` would ask the hooks about `cwd`."""
        return self._flag is None and str(_real(cwd)) not in self._decided and needs_trust(_real(cwd), self._home)

    def already_trusted(self, cwd: Path) -> bool:
        """Return whether a flag or a saved decision says yes, without asking anybody. Raises `TrustError`."""
        return self._flag if self._flag is not None else self.store.nearest(_real(cwd)) is True

    async def _decide(
        self, folder: str, default: DefaultProjectTrust, hooks: Hooks | None, ask: Ask | None, alone: bool
    ) -> bool:
        if self._flag is not None:
            return self._flag
        if not needs_trust(Path(folder), self._home):
            return self.store.nearest(Path(folder)) is not False
        if hooks is not None:
            decision = (await hooks.run(PROJECT_TRUST, ProjectTrustEvent(folder))).decision
            if decision.trusted in ("yes", "no"):
                trusted = decision.trusted == "yes"
                if decision.remember:
                    self._save({folder: trusted})
                return trusted
        saved = self.store.nearest(Path(folder))
        if saved and alone:
            saved = self.store.read().get(folder)
        if saved is not None:
            return saved
        if default != "ask":
            return default == "always"
        chosen = None if ask is None else await ask(folder, trust_options(folder))
        if chosen is None:
            return False
        if chosen.saves:
            self._save(chosen.saves)
        return chosen.trusted

    def _save(self, changes: Mapping[str, bool | None]) -> None:
        try:
            self.store.save(changes)
        except TrustError as error:
            self.unsaved.append(f"{error}. The answer holds for this session only")


def needs_trust(cwd: Path, home: Path) -> bool:
    """Return whether the folder holds something that must not be loaded unasked. Mere existence counts."""
    real = _real(cwd)
    if any(os.path.lexists(real / ".pi" / name) for name in ASKING_FILES):
        return True
    own = os.path.realpath(home / ".agents" / "skills")
    skills = (folder / ".agents" / "skills" for folder in (real, *real.parents))
    return any(os.path.lexists(folder) and os.path.realpath(folder) != own for folder in skills)


def trust_options(folder: str) -> list[TrustOption]:
    """Return the answers about the real `folder`, in the order in which they are shown."""
    parent = os.path.dirname(folder)
    options = [TrustOption("Trust", True, {folder: True})]
    if parent != folder:
        options.append(TrustOption(f"Trust parent folder ({parent})", True, {parent: True, folder: None}))
    return [
        *options,
        TrustOption("Trust (this session only)", True),
        TrustOption("Do not trust", False, {folder: False}),
        TrustOption("Do not trust (this session only)", False),
    ]


def untrusted_notice(cwd: Path) -> str:
    """Return the line that a mode without a dialog writes to standard error when an open question counts as no."""
    return f"{cwd / '.pi'} was not loaded: the project is not trusted (run piolet there and answer, or give --approve)"


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))
