"""Everything that a session gets from disk beside settings and models, read in one go; a reload reads it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from piolet.app.options import ResourceSelection, RuntimeOptions
from piolet.app.packages.distributions import PACKAGES, entry_points
from piolet.app.packages.imports import own_folders
from piolet.app.packages.manifest import Kind
from piolet.app.packages.sources import is_package
from piolet.app.resources.diagnostics import Diagnostic
from piolet.app.resources.resolve import Places, Resolution, resolve_named, resolve_resources
from piolet.app.resources.skills import expand_skill_command, load_skills
from piolet.app.resources.templates import load_templates
from piolet.app.settings import Settings
from piolet.base.paths import resolve_path
from piolet.harness.prompt.records import Skill
from piolet.harness.prompt.templates import PromptTemplate, expand_template

if TYPE_CHECKING:
    from piolet.app.resources.themes import LoadedTheme

T = TypeVar("T")


class Resources(Struct, frozen=True, dict=True):
    """What was loaded. `found` also lists what is switched off, the extensions, and the packages that are missing.

    `named`: what packages hold that the command line names for one run. Themes are read when a screen asks for them;
    `diagnostics` are those of skills and templates.
    """

    found: Resolution
    named: Resolution
    skills: Sequence[Skill]
    templates: Sequence[PromptTemplate]
    theme_paths: Sequence[str]
    diagnostics: Sequence[Diagnostic]

    @property
    def themes(self) -> dict[str, LoadedTheme]:
        return self._loaded_themes[0]

    @property
    def theme_diagnostics(self) -> Sequence[Diagnostic]:
        return self._loaded_themes[1]

    @cached_property
    def _loaded_themes(self) -> tuple[dict[str, LoadedTheme], list[Diagnostic]]:
        from piolet.app.resources.themes import load_themes

        return load_themes(self.theme_paths)

    def expand(self, text: str) -> str:
        """Return what a user's text means: the skill or template that it calls, else itself. OSError if it is gone."""
        expanded = expand_skill_command(text, self.skills)
        return expand_template(text, self.templates) if expanded == text else expanded


def find_resources(options: RuntimeOptions, settings: Settings, *, trusted: bool) -> tuple[Resolution, Resolution]:
    """Return what is found for the folder of `options`, and what the packages hold that the command line names."""
    places = Places(options.cwd, options.agent_dir, options.home)
    distributions = [point.name for point in entry_points(own_folders(), PACKAGES)]
    found = resolve_resources(places, settings, trusted=trusted, distributions=distributions)
    return found, resolve_named(places, [text for text in options.extensions.paths if is_package(text)])


def load_resources(options: RuntimeOptions, settings: Settings, *, trusted: bool) -> Resources:
    """Read the skills, templates and themes for the folder of `options`.

    Packages and paths of the command line come after what is found.
    """
    found, named = find_resources(options, settings, trusted=trusted)
    diagnostics: list[Diagnostic] = []

    def chosen(kind: Kind, selection: ResourceSelection) -> list[str]:
        discovered = found.resources[kind] if selection.discover else []
        paths = [resource.path for resource in (*discovered, *named.resources[kind]) if resource.enabled]
        for path in selection.paths:
            try:
                paths.append(resolve_path(path, str(options.cwd), home=str(options.home)))
            except ValueError:
                diagnostics.append(Diagnostic("path-missing", path, "it is no path of this machine"))
        return paths

    def load(kind: Kind, selection: ResourceSelection, loader: Callable[[list[str]], tuple[T, list[Diagnostic]]]) -> T:
        loaded, problems = loader(chosen(kind, selection))
        diagnostics.extend(problems)
        return loaded

    return Resources(
        found,
        named,
        load("skills", options.skills, load_skills),
        load("prompts", options.prompt_templates, load_templates),
        chosen("themes", options.themes),
        diagnostics,
    )
