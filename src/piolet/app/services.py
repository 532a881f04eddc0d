"""``Services``: what the sessions of one folder share, as a snapshot that a reload replaces."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from piolet.app.options import RuntimeOptions
from piolet.app.settings import Settings
from piolet.app.settings_files import SettingsFiles
from piolet.harness.environments.base import Environment
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.prompt.context_files import ContextFileFinder
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.session.places import SessionPlace
from piolet.llm.models import Models


class Services(Struct, frozen=True):
    """`cwd` is on this machine; the environment has its own. `notices`: what the user should be told at the start."""

    options: RuntimeOptions
    cwd: Path
    trusted: bool
    files: SettingsFiles
    models: Models
    environment: Environment
    notices: list[str] = field(default_factory=list)

    def tell_once(self, notice: str) -> None:
        """Add a notice for the user unless it is there already."""
        if notice not in self.notices:
            self.notices.append(notice)

    @property
    def settings(self) -> Settings:
        return self.files.settings

    @property
    def sessions(self) -> SessionPlace:
        """Where sessions of the folder are kept."""
        chosen = self.options.session_dir or os.environ.get("PI_CODING_AGENT_SESSION_DIR") or self.settings.session_dir
        return SessionPlace.of(str(self.cwd), str(self.options.agent_dir), chosen)

    def prompt_parts(self) -> PromptParts:
        """The system prompt of this folder: built-in text or a replacement, additions, context files."""
        options = self.options
        finder = ContextFileFinder(self.environment, self.environment.cwd, str(options.agent_dir))
        return PromptParts(
            base=None if options.system_prompt is None else text_or_file(options.system_prompt, self.cwd),
            append=[text_or_file(text, self.cwd) for text in options.append_system_prompt or ()],
            context_files=finder if options.context_files else None,
        )


def load_services(options: RuntimeOptions) -> Services:
    """Read everything that sessions in the folder of `options` need."""
    cwd, trusted = options.cwd, bool(options.trust)
    files = SettingsFiles(options.agent_dir, cwd, project_trusted=trusted)
    models = Models.open(options.agent_dir, proxy=files.settings.http_proxy)
    notices = [problem.message for problem in files.problems]
    if models.error:
        notices.append(models.error)
    _add_demo(models, options)
    return Services(options, cwd, trusted, files, models, LocalEnvironment(str(cwd)), notices)


def _add_demo(models: Models, options: RuntimeOptions) -> None:
    """Add the provider ``demo`` when it is asked for by name: it must never be chosen silently."""
    if "demo" in (options.provider, (options.model or "").partition("/")[0]):
        from piolet.llm import demo

        models.register_provider("demo", models=[demo.MODEL], stream=demo.stream)


def text_or_file(value: str, cwd: Path) -> str:
    """Return the text of the file that `value` names, or `value` itself if there is no such file."""
    path = cwd / Path(value).expanduser()
    try:
        if path.is_file():
            return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        pass  # too long for a name, or not readable: it is the text
    return value


def agent_dir(environ: Mapping[str, str]) -> Path:
    """Return the agent folder: ``PI_CODING_AGENT_DIR``, else ``~/.pi/agent``."""
    chosen = environ.get("PI_CODING_AGENT_DIR")
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".pi" / "agent"
