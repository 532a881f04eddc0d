"""``Services``: what the sessions of one folder share, as a snapshot that a reload replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from piolet.app.documentation import documentation_folder
from piolet.app.environment import choice, first_choice, open_chosen, skills_there
from piolet.app.hook_points import ResourcePaths
from piolet.app.local_models import add_local_server
from piolet.app.options import ResourceSelection, RuntimeOptions
from piolet.app.packages.startup import fetch_missing, fetch_named
from piolet.app.resources.loader import Resources, load_resources
from piolet.app.resources.system_files import SystemTexts, system_texts
from piolet.app.settings import Settings
from piolet.app.settings_files import SettingsFiles
from piolet.app.trust import Ask, ProjectTrust, TrustOption, untrusted_notice
from piolet.harness.environments.base import Environment
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.hooks import Hooks
from piolet.harness.prompt.context_files import ContextFileFinder
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.session.places import SessionPlace
from piolet.llm.credentials.errors import AuthFileError
from piolet.llm.models import Models

if TYPE_CHECKING:
    from piolet.app.keybindings import Keybindings


class Services(Struct, frozen=True, dict=True):
    """`cwd` is on this machine; the environment, which is the one called `place`, has its own. `notices`: what the user
    should be told at the start.

    `files`, `models` and `environment` have a life and stay over a reload; the rest is as it was read.
    """

    options: RuntimeOptions
    cwd: Path
    trusted: bool
    files: SettingsFiles
    models: Models
    environment: Environment
    resources: Resources
    texts: SystemTexts
    notices: list[str] = field(default_factory=list)
    place: str = "local"

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
        return place_of_sessions(self.options, self.cwd, self.settings)

    @cached_property
    def keybindings(self) -> Keybindings:
        """The user's key bindings; read when a screen asks for them."""
        from piolet.app.keybindings import load_keybindings, this_platform

        return load_keybindings(self.options.agent_dir, this_platform())

    def prompt_parts(self) -> PromptParts:
        """The system prompt of this folder: built-in text or a replacement, additions, context files, skills."""
        is_here = isinstance(self.environment, LocalEnvironment)
        host = None if is_here else LocalEnvironment(str(self.cwd))
        finder = ContextFileFinder(self.environment, self.environment.cwd, str(self.options.agent_dir), host)
        return PromptParts(
            base=self.texts.prompt,
            append=self.texts.append,
            context_files=finder if self.options.context_files else None,
            skills=skills_there(self.environment, self.resources.skills),
            docs_path=documentation_folder("docs") if is_here else None,
            examples_path=documentation_folder("examples") if is_here else None,
        )


async def load_services(
    options: RuntimeOptions,
    cwd: Path,
    trust: ProjectTrust,
    *,
    ask: Ask | None = None,
    previous: Services | None = None,
    hooks: Hooks | None = None,
    asking: Callable[[Path, Settings, Environment], AbstractAsyncContextManager[None]] | None = None,
) -> Services:
    """Read everything that sessions in `cwd` need; nothing of the project before the decision about it.

    Without `ask` an open question means no, and a notice says so. `hooks` are asked first; if so, `asking` is entered
    around that, with the settings without the project's. `previous`: whose parts go on living. Raises `TrustError`,
    `SettingsError`, `InvalidChoice`, `Unreachable`.
    """
    kept = previous if previous is not None and previous.cwd == cwd else None
    files = kept.files if kept else SettingsFiles(options.agent_dir, cwd, project_trusted=False)
    place = kept.place if kept else first_choice(options, files)
    environment = kept.environment if kept else await open_chosen(place, options, cwd)
    notices: list[str] = []
    try:
        if previous is None:
            notices += await fetch_named(options, files.settings)
        async with asking(cwd, files.settings, environment) if asking and trust.asks_hooks(cwd) else nullcontext():
            trusted = await _decide(trust, cwd, files.settings, hooks, ask, notices, environment)
        if kept or trusted:
            files.project_trusted = trusted
            files.reload()
    except BaseException:
        if not kept:
            await environment.close()
        raise
    if previous:
        models = previous.models
        models.reload()
    else:
        models = open_models(options, files.settings)
        await add_local_server(models, options, files.settings)
    notices += [problem.message for problem in files.problems]
    notices += [doubt.message for doubt in files.doubts]
    if models.error:
        notices.append(models.error)
    if options.mode == "interactive" and (broken := _broken_credentials(models)):  # elsewhere the request fails at once
        notices.append(broken)
    here = replace(options, cwd=cwd)
    resources = load_resources(here, files.settings, trusted=trusted)
    if resources.found.missing:
        notices += await fetch_missing(resources.found.missing, here, files.settings)
        resources = load_resources(here, files.settings, trusted=trusted)
    texts = system_texts(
        cwd,
        options.agent_dir,
        trusted=trusted,
        prompt=options.system_prompt,
        append=options.append_system_prompt,
    )
    if choice(options, files.settings) != place:
        notices.append(f"Tools go on acting in {place}; the setting piolet.environment counts from the next start on")
    return Services(options, cwd, trusted, files, models, environment, resources, texts, notices, place)


def _broken_credentials(models: Models) -> str | None:
    """Return what is wrong with the file of credentials, without which no model may be there; None if nothing."""
    try:
        models.credentials.providers()
    except AuthFileError as error:
        return str(error)
    return None


async def _decide(
    trust: ProjectTrust,
    cwd: Path,
    settings: Settings,
    hooks: Hooks | None,
    ask: Ask | None,
    notices: list[str],
    environment: Environment,
) -> bool:
    async def ask_nobody(folder: str, choices: Sequence[TrustOption]) -> TrustOption | None:
        notices.append(untrusted_notice(cwd))
        return None

    trusted = await trust.decide(
        cwd,
        default=settings.default_project_trust,
        hooks=hooks,
        ask=ask or ask_nobody,
        alone=environment.kind == "sandbox",  # what is below a trusted folder may have been made from inside
    )
    notices += trust.unsaved
    trust.unsaved.clear()
    return trusted


def with_resources(services: Services, paths: ResourcePaths) -> Services:
    """Return `services` with the resources that extensions know of, behind all others."""
    options = services.options

    def more(selection: ResourceSelection, added: Sequence[str]) -> ResourceSelection:
        return replace(selection, paths=[*selection.paths, *added])

    options = replace(
        options,
        cwd=services.cwd,
        skills=more(options.skills, paths.skill_paths),
        prompt_templates=more(options.prompt_templates, paths.prompt_paths),
        themes=more(options.themes, paths.theme_paths),
    )
    resources = load_resources(options, services.settings, trusted=services.trusted)
    return replace(services, resources=resources)


def open_models(options: RuntimeOptions, settings: Settings) -> Models:
    """Return the models of the agent folder.

    The provider ``demo`` is there only when it is asked for by name: it must never be chosen silently.
    """
    models = Models.open(options.agent_dir, proxy=settings.http_proxy)
    if "demo" in (options.provider, (options.model or "").partition("/")[0]):
        from piolet.llm import demo

        models.register_provider("demo", models=[demo.MODEL], stream=demo.stream)
    return models


def project_trust(options: RuntimeOptions) -> ProjectTrust:
    """Return who decides about projects."""
    return ProjectTrust(options.agent_dir, options.home, flag=options.trust)


def early_place(options: RuntimeOptions) -> SessionPlace:
    """Return where the sessions of the folder are kept as far as that shows before anybody is asked about trust.

    A repository must not choose where a conversation is written: its settings count only if it is trusted already.
    Raises `TrustError`.
    """
    return place_of_sessions(options, options.cwd, early_settings(options))


def early_settings(options: RuntimeOptions) -> Settings:
    """Return the settings as far as they are in force before anybody is asked about trust. Raises `TrustError`."""
    trusted = project_trust(options).already_trusted(options.cwd)
    return SettingsFiles(options.agent_dir, options.cwd, project_trusted=trusted).settings


def place_of_sessions(options: RuntimeOptions, cwd: Path, settings: Settings) -> SessionPlace:
    return SessionPlace.of(str(cwd), str(options.agent_dir), options.session_dir or settings.session_dir)
