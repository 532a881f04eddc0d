"""What a Runtime is asked for: the command line, or an embedder, in one record."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from piolet.llm.messages import ThinkingLevel
from piolet.llm.model import CacheRetention

if TYPE_CHECKING:
    from piolet.app.extensions.definitions import ExtensionFactory
    from piolet.app.extensions.flags import GivenFlag

#: Entered with the name of what is fetched, for as long as that takes.
Fetching: TypeAlias = Callable[[str], AbstractContextManager[object]]


class NewSession(Struct, frozen=True):
    """A new session; `session_id` must be free. `in_memory`: nothing reaches the disk."""

    session_id: str | None = None
    in_memory: bool = False
    parent_session: str | None = None


class ContinueSession(Struct, frozen=True):
    """The most recent session of the folder; a new one if there is none."""


class OpenSession(Struct, frozen=True):
    """A session file; a path that does not exist becomes a new session there. `cwd_override`: work there instead."""

    path: Path
    cwd_override: Path | None = None


class ExactSession(Struct, frozen=True):
    """The session of this folder with exactly this id; made if there is none."""

    session_id: str


class ForkSession(Struct, frozen=True):
    """A copy of a session file, all branches, in this folder."""

    path: Path
    session_id: str | None = None


SessionChoice: TypeAlias = NewSession | ContinueSession | OpenSession | ExactSession | ForkSession


class ToolSelection(Struct, frozen=True):
    """Which tools are offered: `only` replaces the default set (or changes it by +name, -name); `exclude` acts last.

    Patterns may hold ``*``. `builtin` False: none of the built-in ones by default.
    """

    only: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    none: bool = False
    builtin: bool = True


class ResourceSelection(Struct, frozen=True):
    """Paths given by hand, and whether the usual places are searched as well."""

    paths: Sequence[str] = ()
    discover: bool = True


class RuntimeOptions(Struct, frozen=True):
    """What a Runtime is made of.

    `cwd`: where session and tools are, unless an opened session says otherwise. `agent_dir`: the folder of settings,
    credentials and sessions, by default ``~/.pi/agent``. `home`: the user's home folder. `mode`: who draws.
    `session_dir`: where sessions are kept, before what the settings say. `model`: a pattern as for ``--model``.
    `environment`: where tools act, as for ``--env``; None: as the user's settings say, else here.
    `trust`: the answer about the project's files; None: the stored answer, else asking.
    `fetching`: shows that a package is being fetched.
    `extension_factories`: extensions of the embedder, loaded behind all others. `flags`: options that may belong to
    extensions.
    """

    cwd: Path = field(default_factory=Path.cwd)
    agent_dir: Path = field(default_factory=lambda: agent_dir(os.environ))
    home: Path = field(default_factory=Path.home)
    mode: Literal["interactive", "print", "json", "rpc", "sdk"] = "sdk"
    session: SessionChoice = field(default_factory=NewSession)
    session_dir: str | None = None
    session_name: str | None = None
    provider: str | None = None
    model: str | None = None
    models: Sequence[str] | None = None
    api_key: str | None = None
    thinking: ThinkingLevel | None = None
    tools: ToolSelection = field(default_factory=ToolSelection)
    system_prompt: str | None = None
    append_system_prompt: Sequence[str] | None = None
    extensions: ResourceSelection = field(default_factory=ResourceSelection)
    skills: ResourceSelection = field(default_factory=ResourceSelection)
    prompt_templates: ResourceSelection = field(default_factory=ResourceSelection)
    themes: ResourceSelection = field(default_factory=ResourceSelection)
    extension_factories: Sequence[ExtensionFactory] = ()
    flags: Mapping[str, GivenFlag] = field(default_factory=dict)
    context_files: bool = True
    environment: str | None = None
    cache_retention: CacheRetention | None = None
    trust: bool | None = None
    offline: bool = False
    fetching: Fetching = nullcontext
    verbose: bool = False


def agent_dir(environ: Mapping[str, str]) -> Path:
    """Return the agent folder: ``PI_CODING_AGENT_DIR``, else ``~/.pi/agent``."""
    chosen = environ.get("PI_CODING_AGENT_DIR")
    return Path(os.path.abspath(os.path.expanduser(chosen))) if chosen else Path.home() / ".pi" / "agent"
