"""Components of extensions that have the keys: in place of the editor, or floating over the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from piolet.tui.component import Component, dispose
from piolet.tui.overlay import GivenOptions, OverlayHandle, OverlayOptions, checked
from piolet.tui.panels.question import ComponentPanel
from piolet.tui.widgets.overlay_view import OverlayView

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

T = TypeVar("T")

# The Kitty keyboard protocol tells of keys that are released too.
_RELEASES, _NO_RELEASES = "\x1b[=2;2u", "\x1b[=2;3u"


async def show_component(
    face: Face,
    owner: object,
    factory: Callable[..., Any],
    overlay: bool = False,
    options: GivenOptions = None,
    on_handle: Callable[[OverlayHandle], object] | None = None,
) -> Any:
    """Show the component that ``factory(tui, theme, keybindings, done)`` makes until ``done(value)`` is called, and
    return the value; None: the user has closed it. Raises what the factory raises, `OverlayOptionsError`, and
    `QuestionEnded`."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def done(value: Any = None) -> None:
        if not answer.done():
            answer.set_result(value)

    def failed(error: Exception) -> None:
        face.presenter.error(f"Extension error ({owner}): {type(error).__name__}: {error}")
        face.app.call_later(done)

    surface = face.surface
    component: Component | None = None
    try:
        with surface.until_cleared(done):
            made = factory(surface.tui, surface.theme, face.keymap, done)
            component = await made if isawaitable(made) else made
            panel = ComponentPanel(component, failed, done)
            with _releases(face, component):
                if not overlay:
                    with _in_place(face, panel):
                        return await answer
                with _floating(face, panel, options, failed) as view:
                    if on_handle is not None:
                        on_handle(Handle(face, view, done))
                    return await answer
    finally:
        surface.tui.start()  # whatever happened to a component that had the terminal given away
        if component is not None:
            surface.attempt(owner, lambda: dispose(component))


@contextmanager
def _in_place(face: Face, panel: ComponentPanel) -> Iterator[None]:
    face.app.push_panel(panel)
    try:
        yield
    finally:
        face.app.pop_panel(panel)


@contextmanager
def _floating(
    face: Face, panel: ComponentPanel, given: GivenOptions, failed: Callable[[Exception], object]
) -> Iterator[OverlayView]:
    last = checked(OverlayOptions.of(given() if callable(given) else given))
    broken = False

    def attempt(call: Callable[[], T], otherwise: T) -> T:
        nonlocal broken
        if not broken:
            try:
                return call()
            except Exception as error:
                broken = True
                failed(error)
        return otherwise

    def options() -> OverlayOptions:
        nonlocal last
        if callable(given):
            last = attempt(lambda: checked(OverlayOptions.of(given())), last)
        return replace(last, visible=visible)

    def visible(columns: int, rows: int) -> bool:
        may_be_seen = last.visible
        return may_be_seen is None or attempt(lambda: bool(may_be_seen(columns, rows)), False)

    view = face.app.overlays.push(panel, options)
    try:
        yield view
    finally:
        face.app.overlays.pop(view)


@contextmanager
def _releases(face: Face, component: Component) -> Iterator[None]:
    """Let the terminal tell of released keys while a component wants to know."""
    wanted = getattr(component, "wants_key_release", False)
    if wanted:
        face.app.write(_RELEASES)
    try:
        yield
    finally:
        if wanted:
            face.app.write(_NO_RELEASES)


class Handle:
    """An `OverlayHandle`; `done` ends it."""

    def __init__(self, face: Face, view: OverlayView, done: Callable[[], object]) -> None:
        self._overlays, self._view, self._done = face.app.overlays, view, done

    def hide(self) -> None:
        self._overlays.pop(self._view)
        self._done()

    def set_hidden(self, hidden: bool) -> None:
        self._view.hidden = hidden
        self._overlays.redraw()

    def is_hidden(self) -> bool:
        return self._view.hidden

    def focus(self) -> None:
        self._overlays.focus(self._view)

    def unfocus(self) -> None:
        self._view.has_keys = False

    def is_focused(self) -> bool:
        return self._overlays.panel is self._view.panel
