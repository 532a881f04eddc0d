"""What stands at the head of the transcript: logo and keys, what was loaded, what was wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from piolet._version import __version__
from piolet.app.services import Services
from piolet.harness.prompt.records import ContextFile
from piolet.modes.interactive.hotkeys import hotkeys
from piolet.tui.blocks.frame import DIM, Frame, inset, plain
from piolet.tui.blocks.header import HeaderView, header_lines
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.blocks.notices import section_lines
from piolet.tui.keymap import Keymap
from piolet.tui.spans import Line, Span
from piolet.tui.theme_builtin import BUILT_IN_THEMES

if TYPE_CHECKING:
    from piolet.app.extensions.extension import Extension

NAME = "piolet"
TIP = "Type to the model, @ for files, / for commands, ! for the shell."
_INDENT = Span("  ")


def header_block(keymap: Callable[[], Keymap]) -> DrawnBlock:
    """Return the logo with a line of hints; unfolded, with all keys."""

    def draw(frame: Frame) -> Sequence[Line]:
        keys = keymap()
        label = keys.label
        hints = [
            (label("app.interrupt"), "interrupt"),
            ("/".join(filter(None, (label("app.clear"), label("app.exit")))), "clear/exit"),
            ("/", "commands"),
            ("!", "bash"),
            (label("app.tools.expand"), "more"),
        ]
        listed = list(hotkeys(keys)) if frame.expanded else []
        view = HeaderView(NAME, __version__, [hint for hint in hints if hint[0]], listed, TIP)
        return header_lines(view, frame)

    return DrawnBlock(draw, f"{NAME}\n\n{TIP}")


def resource_blocks(
    services: Services, context_files: Iterable[ContextFile], extensions: Iterable[Extension]
) -> list[DrawnBlock]:
    """Return a section for each kind of resource that was loaded, and for each kind of problem."""
    resources = services.resources
    home = str(services.options.home)
    sections = [
        ("Context", [(os.path.basename(file.path), file.path) for file in context_files]),
        ("Skills", [(skill.name, skill.path) for skill in resources.skills]),
        ("Prompts", [(f"/{template.name}", template.path) for template in resources.templates]),
        ("Extensions", [(_name_of(one.path), one.path) for one in extensions]),
        ("Themes", [(_name_of(path), path) for path in resources.theme_paths]),
    ]
    blocks = [_section(title, items, home) for title, items in sections if items]
    problems = [f"{_short(fault.path, home)}: {fault.message}" for fault in resources.diagnostics]
    problems += resources.found.problems
    problems += [f"{_short(path, home)}: no Python extension" for path in resources.found.foreign]
    if resources.theme_paths:
        problems += [f"{_short(fault.path, home)}: {fault.message}" for fault in resources.theme_diagnostics]
        problems += [
            f"{_short(loaded.path, home)}: the theme {name!r} takes the place of the built-in one"
            for name, loaded in resources.themes.items()
            if name in BUILT_IN_THEMES and loaded.path is not None
        ]
    return [*blocks, *([_problems(problems)] if problems else [])]


def _section(title: str, items: Sequence[tuple[str, str]], home: str) -> DrawnBlock:
    """Return a heading over the names on one line; unfolded, over the paths."""

    def draw(frame: Frame) -> Sequence[Line]:
        if frame.expanded:
            return section_lines(title, [_short(path, home) for _, path in items], frame)
        names = plain(", ".join(name for name, _ in items), max(1, frame.text_width - 2), DIM)
        return [*section_lines(title, (), frame), *inset([(_INDENT, *line) for line in names], frame)]

    return DrawnBlock(draw, title)


def _problems(problems: Sequence[str]) -> DrawnBlock:
    return DrawnBlock(lambda frame: section_lines("Problems", problems, frame, problem=True), "\n".join(problems))


def _name_of(path: str) -> str:
    name = os.path.basename(path.rstrip("/"))
    return os.path.splitext(name)[0] or name


def _short(path: str, home: str) -> str:
    return "~" + path[len(home) :] if path.startswith(home + "/") else path
