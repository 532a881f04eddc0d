"""Everything that a session gets from disk beside settings and models, read in one go; a reload reads it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from piolet.app.options import ResourceSelection, RuntimeOptions
from piolet.app.packages.manifest import Kind
from piolet.app.resources.diagnostics import Diagnostic
from piolet.app.resources.resolve import Places, Resolution, resolve_resources
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

    Themes are read when a screen asks for them; `diagnostics` are those of skills and templates.
    """

    found: Resolution
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


def load_resources(options: RuntimeOptions, settings: Settings, *, trusted: bool, home: Path) -> Resources:
    """Read the skills, templates and themes for the folder of `options`.

    Paths of the command line come after what is found. `home` is where ``~`` and ``~/.agents`` are.
    """
    places = Places(options.cwd, options.agent_dir, home)
    found = resolve_resources(places, settings, trusted=trusted)
    diagnostics: list[Diagnostic] = []

    def chosen(kind: Kind, selection: ResourceSelection) -> list[str]:
        paths = [resource.path for resource in found.resources[kind] if resource.enabled and selection.discover]
        return paths + [resolve_path(path, str(options.cwd), home=str(home)) for path in selection.paths]

    def load(kind: Kind, selection: ResourceSelection, loader: Callable[[list[str]], tuple[T, list[Diagnostic]]]) -> T:
        loaded, problems = loader(chosen(kind, selection))
        diagnostics.extend(problems)
        return loaded

    return Resources(
        found,
        load("skills", options.skills, load_skills),
        load("prompts", options.prompt_templates, load_templates),
        chosen("themes", options.themes),
        diagnostics,
    )
