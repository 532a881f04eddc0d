"""Load skills from files and folders, check them, and expand ``/skill:name``.

Source of the rules: the resources specification, section 4.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from piolet.app.resources.diagnostics import Code, Diagnostic, collision, read_markdown
from piolet.app.resources.scan import SKILL_FILE, scan_skills
from piolet.base.frontmatter import FrontmatterError, parse_fields
from piolet.harness.prompt.records import Skill
from piolet.harness.prompt.skills import parse_skill_command, skill_block

MAX_NAME = 64
MAX_DESCRIPTION = 1024


def load_skills(paths: Iterable[str]) -> tuple[list[Skill], list[Diagnostic]]:
    """Return the skills at `paths` (files, or folders that are searched) and what was wrong.

    The first of a name wins; the same real file twice is silent. A loose file without a description is no skill.
    """
    skills: dict[str, Skill] = {}
    diagnostics: list[Diagnostic] = []
    seen: set[str] = set()
    for path in _files(paths, diagnostics):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        skill = _load(path, diagnostics)
        if skill is None:
            continue
        winner = skills.setdefault(skill.name, skill)
        if winner is not skill:
            diagnostics.append(collision("skill", skill.name, path, winner.path))
    return list(skills.values()), diagnostics


def expand_skill_command(text: str, skills: Sequence[Skill]) -> str:
    """Return what ``/skill:name rest`` means; `text` itself for an unknown name. OSError if the file is gone."""
    command = parse_skill_command(text)
    if command is None:
        return text
    name, rest = command
    for skill in skills:
        if skill.name == name:
            return skill_block(skill, body_of(read_markdown(skill.path)), rest)
    return text


def body_of(text: str) -> str:
    """Return a skill's text without front matter, which may have been broken since it was loaded."""
    try:
        return parse_fields(text)[1]
    except FrontmatterError:
        return text


def _files(paths: Iterable[str], diagnostics: list[Diagnostic]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            yield from scan_skills(path)
        elif not os.path.isfile(path):
            diagnostics.append(Diagnostic("path-missing", path, "there is no such file or folder"))
        elif not path.endswith(".md"):
            diagnostics.append(Diagnostic("not-markdown", path, "a skill is a Markdown file or a folder with SKILL.md"))
        else:
            yield path


def _load(path: str, diagnostics: list[Diagnostic]) -> Skill | None:
    loose = os.path.basename(path) != SKILL_FILE
    try:
        fields, _ = parse_fields(read_markdown(path))
    except (OSError, FrontmatterError) as error:
        if not loose:
            diagnostics.append(Diagnostic("unreadable", path, str(error)))
        return None
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        if not loose:
            diagnostics.append(Diagnostic("description-required", path, "the front matter has no description"))
        return None
    folder = os.path.dirname(path)
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        name = os.path.basename(folder)
    diagnostics += [Diagnostic(code, path, message) for code, message in _faults(name, description)]
    return Skill(name, description, path, folder, fields.get("disable-model-invocation") is True)


def _faults(name: str, description: str) -> Iterator[tuple[Code, str]]:
    if len(name) > MAX_NAME:
        yield "name-too-long", f"the name has {len(name)} characters, {MAX_NAME} may be"
    if not re.fullmatch(r"[a-z0-9-]+", name):
        yield "name-invalid-characters", f"the name {name!r} may hold only a-z, 0-9 and hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "name-edge-hyphen", f"the name {name!r} begins or ends with a hyphen"
    if "--" in name:
        yield "name-double-hyphen", f"the name {name!r} has two hyphens in a row"
    if len(description) > MAX_DESCRIPTION:
        yield (
            "description-too-long",
            f"the description has {len(description)} characters, {MAX_DESCRIPTION} may be",
        )
