"""Load prompt templates from files and folders. Source of the rules: the resources specification, section 5."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from piolet.app.resources.diagnostics import Diagnostic, collision, read_markdown
from piolet.app.resources.scan import SUFFIXES, scan_files
from piolet.base.frontmatter import FrontmatterError
from piolet.harness.prompt.templates import PromptTemplate, parse_template


def load_templates(paths: Iterable[str]) -> tuple[list[PromptTemplate], list[Diagnostic]]:
    """Return the templates at `paths` (files, or folders whose own files count) and what was wrong.

    ``NAME.md`` is called ``/NAME``; the first of a name wins.
    """
    templates: dict[str, PromptTemplate] = {}
    diagnostics: list[Diagnostic] = []
    for path in dict.fromkeys(_files(paths, diagnostics)):
        try:
            template = parse_template(os.path.basename(path).removesuffix(".md"), read_markdown(path), path)
        except (OSError, FrontmatterError) as error:
            diagnostics.append(Diagnostic("unreadable", path, str(error)))
            continue
        winner = templates.setdefault(template.name, template)
        if winner is not template:
            diagnostics.append(collision("prompt template", template.name, path, winner.path))
    return list(templates.values()), diagnostics


def _files(paths: Iterable[str], diagnostics: list[Diagnostic]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            yield from scan_files(path, SUFFIXES["prompts"])
        elif not os.path.isfile(path):
            diagnostics.append(Diagnostic("path-missing", path, "there is no such file or folder"))
        elif not path.endswith(".md"):
            diagnostics.append(Diagnostic("not-markdown", path, "a prompt template is a Markdown file"))
        else:
            yield path
