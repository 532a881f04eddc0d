"""Components: what extensions draw with, free of any toolkit; and the ready-made ones that only show something.

A component gives strings with escape sequences, none wider than it was told; the screen that shows it takes them in
through `piolet.tui.ansi`. Source: the extension specification, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from piolet.tui import ansi
from piolet.tui.blocks.rules import SPINNER
from piolet.tui.keys import Key
from piolet.tui.markdown import render
from piolet.tui.markdown_inline import Look
from piolet.tui.spans import Line, clip
from piolet.tui.ui_theme import UiTheme


@runtime_checkable
class Component(Protocol):
    """Anything that can be drawn.

    It may also have ``handle_input(key) -> bool | None`` (True: the key is used up; what is not means what it means
    elsewhere: Escape and Ctrl+C close the component, others scroll; an editor hands on what it returns False for),
    ``invalidate()`` (forget what was drawn: theme or size changed), ``dispose()``, and ``wants_key_release`` (True:
    hand it releases too).
    """

    def render(self, width: int) -> list[str]:
        """Return the lines, each at most `width` cells wide."""


def component_lines(component: Component, width: int) -> list[Line]:
    """Return what `component` draws as lines of at most `width` cells. TypeError if that is no list of strings."""
    drawn = rendered(component, width)
    return [clip(line, width, "") for line in ansi.parse("\n".join(drawn))] if drawn else []


def rendered(component: Component, width: int) -> Sequence[str]:
    """Return what `component` draws. TypeError if that is no list: the letters of a string would be its rows."""
    drawn: object = component.render(width)
    if isinstance(drawn, str) or not isinstance(drawn, Sequence):
        kind = type(drawn).__name__
        raise TypeError(f"{type(component).__name__}.render() returned a value of type {kind}, not a list of strings")
    return drawn


def handle_input(component: Component, key: Key) -> bool | None:
    """Hand `key` to a component that takes input; return whether it used the key, None if it does not say."""
    handler = getattr(component, "handle_input", None)
    if handler is None or (key.kind == "release" and not getattr(component, "wants_key_release", False)):
        return False
    used = handler(key)
    return None if used is None else bool(used)


def invalidate(component: Component) -> None:
    """Tell a component that what it has drawn is out of date."""
    if callable(method := getattr(component, "invalidate", None)):
        method()


def dispose(component: Component) -> None:
    """Tell a component that it is not shown any more."""
    if callable(method := getattr(component, "dispose", None)):
        method()


class Text:
    """Text, wrapped; it may hold escape sequences for styles."""

    def __init__(self, text: str = "", *, padding_x: int = 0, padding_y: int = 0) -> None:
        self.text = text
        self.padding_x, self.padding_y = padding_x, padding_y

    def render(self, width: int) -> list[str]:
        side = min(self.padding_x, max(0, (width - 1) // 2))
        lines = [" " * side + line for line in ansi.wrap(self.text, max(1, width - 2 * side))]
        return [""] * self.padding_y + lines + [""] * self.padding_y


class Markdown:
    """Markdown, in the colours of a theme."""

    def __init__(self, text: str, theme: UiTheme) -> None:
        self.text = text
        self.theme = theme

    def render(self, width: int) -> list[str]:
        return self.theme.lines(render(self.text, width, Look(hyperlinks=self.theme.hyperlinks)))


class Box:
    """Components below each other, on a background of the theme, with padding."""

    def __init__(
        self,
        children: Sequence[Component] = (),
        *,
        theme: UiTheme | None = None,
        background: str = "",
        padding_x: int = 1,
        padding_y: int = 1,
    ) -> None:
        self.children = list(children)
        self.theme = theme or UiTheme()
        self.background = background
        self.padding_x, self.padding_y = padding_x, padding_y

    def render(self, width: int) -> list[str]:
        side = min(self.padding_x, max(0, (width - 1) // 2))
        inner = max(1, width - 2 * side)
        lines = [line for child in self.children for line in rendered(child, inner)]
        padded = [""] * self.padding_y + [" " * side + line for line in lines] + [""] * self.padding_y
        if not self.background:
            return padded
        return [self.theme.bg(self.background, line + " " * (width - ansi.width(line))) for line in padded]

    def handle_input(self, key: Key) -> bool:
        return any(handle_input(child, key) for child in self.children)

    def invalidate(self) -> None:
        for child in self.children:
            invalidate(child)

    def dispose(self) -> None:
        for child in self.children:
            dispose(child)


class Loader:
    """A spinner and what is being done. Its owner calls `tick` as often as it shall turn."""

    def __init__(self, message: str, theme: UiTheme | None = None, *, frames: Sequence[str] = SPINNER) -> None:
        self.message = message
        self.theme = theme or UiTheme()
        self.frames = frames
        self._frame = 0

    def tick(self) -> None:
        self._frame += 1

    def render(self, width: int) -> list[str]:
        spinner = self.frames[self._frame % len(self.frames)] if self.frames else ""
        text = self.theme.fg("muted", self.message)
        return [ansi.truncate(f"{self.theme.fg('accent', spinner)} {text}" if spinner else text, width)]
