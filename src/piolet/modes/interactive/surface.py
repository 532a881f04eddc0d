"""What extensions have put on the screen: widgets, header, footer, an editor of their own, listeners to keys.

Whatever raises is taken away and told with the name of its extension; it never gets the app down. All of it goes when
the session is another one or is reloaded (terminal specification, section 15).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from piolet.app.extensions.errors import QuestionEnded
from piolet.app.extensions.ui import Placement
from piolet.modes.interactive.sources import sources
from piolet.tui.blocks.footer import FooterView
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.completion import Sources
from piolet.tui.component import Component, component_lines, dispose, handle_input, invalidate
from piolet.tui.host import Tui
from piolet.tui.keys import Key
from piolet.tui.spans import Line
from piolet.tui.ui_theme import UiTheme

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

WIDGET_LINES = 10
TRUNCATED = "... (widget truncated)"

Slot: TypeAlias = Literal["header", "footer", "editor"]
#: Sees a key before anybody else; True: the key is used up.
KeyListener: TypeAlias = Callable[[Key], bool | None]


@dataclass(frozen=True, eq=False)
class Shown:
    """A component on the screen, and the extension that it is of."""

    owner: object
    component: Component


class ScreenTui:
    """The `Tui` of `face`."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._lent: ExitStack | None = None

    @property
    def size(self) -> tuple[int, int]:
        width, height = self._face.app.size
        return width, height

    @property
    def animated(self) -> bool:
        return self._face.progress.activity.animated

    @property
    def editor_text(self) -> str:
        return self._face.editor.buffer.value

    @property
    def footer(self) -> FooterView:
        return self._face.footer.view(self._face.runtime.session)

    @property
    def statuses(self) -> Mapping[str, str]:
        return dict(self._face.statuses)

    def request_render(self) -> None:
        self._face.surface.redraw()

    def editor_lines(self, width: int) -> list[str]:
        return self._face.surface.theme.lines(self._face.app.editor_area.own_lines(width))

    def editor_input(self, key: Key) -> bool:
        return self._face.edit(key)

    def stop(self) -> None:
        if self._lent is None:
            self._lent = ExitStack()
            self._lent.enter_context(self._face.app.lending())

    def start(self) -> None:
        if self._lent is not None:
            self._lent.close()
            self._lent = None


class Surface:
    """See the module."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self.tui: Tui = ScreenTui(face)
        self.theme = UiTheme()
        self.listeners: list[tuple[object, KeyListener]] = []
        self.factories: dict[Slot, Callable[..., Any]] = {}
        self._slots: dict[Slot, Shown] = {}
        self._widgets: dict[Placement, dict[str, Shown]] = {"above_editor": {}, "below_editor": {}}
        self._closers: list[Callable[[], None]] = []
        self._completing: object = "extension"  # who completes in the editor

    # --------------------------------------------------------------------------------------------------- what is shown

    def set_widget(self, key: str, shown: Shown | None, placement: Placement) -> None:
        """Show a widget in place of that of the same key; None: none."""
        for widgets in self._widgets.values():
            if key in widgets and (shown is None or widgets is not self._widgets[placement]):
                self._end(widgets.pop(key))
        if shown is not None:
            before = self._widgets[placement].get(key)
            self._widgets[placement][key] = shown
            if before is not None:
                self._end(before)
        self.redraw()

    def set_slot(self, slot: Slot, shown: Shown | None, factory: Callable[..., Any] | None = None) -> None:
        """Show a component in place of a part of the screen; None: the built-in part."""
        before = self._slots.pop(slot, None)
        self.factories.pop(slot, None)
        if shown is not None and factory is not None:
            self._slots[slot], self.factories[slot] = shown, factory
        if before is not None:
            self._end(before)
        if slot == "header":
            self._show_header()
        self.redraw()

    def has(self, slot: Slot) -> bool:
        """Whether a part of the screen is an extension's."""
        return slot in self._slots

    def _show_header(self) -> None:
        presenter = self._face.presenter
        header = DrawnBlock(lambda frame: self.slot_lines("header", frame.width) or ())
        presenter.set_head([header] if "header" in self._slots else self._face.opened.head)

    @contextmanager
    def until_cleared(self, close: Callable[[], object]) -> Iterator[None]:
        """Call `close` if all goes within the block, which then ends with `QuestionEnded`."""
        cleared = False

        def end() -> None:
            nonlocal cleared
            cleared = True
            close()

        self._closers.append(end)
        try:
            yield
        finally:
            if end in self._closers:
                self._closers.remove(end)
        if cleared:
            raise QuestionEnded("the session was replaced or reloaded while the user was asked")

    def clear(self) -> None:
        """Take everything away."""
        closers, self._closers = self._closers, []
        for close in closers:
            close()
        shown = [*self._slots.values(), *(one for widgets in self._widgets.values() for one in widgets.values())]
        had_header = "header" in self._slots
        self._slots, self.factories, self.listeners = {}, {}, []
        self._widgets = {"above_editor": {}, "below_editor": {}}
        for one in shown:
            self._end(one)
        if had_header:
            self._show_header()

    def recolor(self) -> None:
        """The theme is another one."""
        looks = self._face.looks
        self.theme.use(looks.palette, hyperlinks=looks.caps.hyperlinks)
        for one in [*self._slots.values(), *(one for widgets in self._widgets.values() for one in widgets.values())]:
            self.attempt(one.owner, lambda one=one: invalidate(one.component))  # type: ignore[misc]

    # --------------------------------------------------------------------------------------------------------- drawing

    def redraw(self) -> None:
        """Draw again what stands around the transcript, and the panel."""
        app = self._face.app
        if "header" in self._slots and self._face.presenter.head:
            self._face.presenter.changed(self._face.presenter.head[0])
        app.redraw()
        app.redraw_panel()

    def widget_lines(self, placement: Placement, width: int) -> list[Line]:
        """Return the lines of all widgets at a place."""
        lines: list[Line] = []
        for key, shown in tuple(self._widgets[placement].items()):
            drawn = self.attempt(shown.owner, lambda shown=shown: component_lines(shown.component, width))  # type: ignore[misc]
            if drawn is None:
                self._widgets[placement].pop(key, None)
                self._end(shown)
                continue
            lines += limited(drawn, width)
        return lines

    def slot_lines(self, slot: Slot, width: int) -> Sequence[Line] | None:
        """Return what an extension draws in a part of the screen; None: the part is the built-in one."""
        shown = self._slots.get(slot)
        if shown is None:
            return None
        lines: list[Line] | None = self.attempt(shown.owner, lambda: component_lines(shown.component, width))
        if lines is None:
            self._drop(slot)
        return lines

    def _drop(self, slot: Slot) -> None:
        shown = self._slots.pop(slot, None)
        self.factories.pop(slot, None)
        if shown is not None:
            self._end(shown)
        if slot == "header":
            self._show_header()

    def _end(self, shown: Shown) -> None:
        self.attempt(shown.owner, lambda: dispose(shown.component))

    # ------------------------------------------------------------------------------------------------------------ keys

    def hear(self, key: Key) -> bool:
        """Let the listeners see a key; return whether one of them used it up."""
        for entry in tuple(self.listeners):
            owner, listener = entry
            used = self.attempt(owner, lambda listener=listener: (listener(key),))  # type: ignore[misc]
            if used is None:
                self.listeners = [other for other in self.listeners if other is not entry]
            elif used[0]:
                return True
        return False

    def edit(self, key: Key) -> bool:
        """Hand a key to the editor of an extension; False if there is none, or it says that the key is not for it."""
        shown = self._slots.get("editor")
        if shown is None:
            return False
        used = self.attempt(shown.owner, lambda: (handle_input(shown.component, key),))
        if used is None:
            self._drop("editor")
            return True
        return used[0] is not False

    def complete_with(self, owner: object, factory: Callable[[Sources], Sources]) -> None:
        """Complete with what `factory` makes of the present sources."""
        area = self._face.app.editor_area
        present = area.sources or sources(self._face)
        made: Sources | None = self.attempt(owner, lambda: factory(present))
        if made is not None:
            self._completing = owner
            area.use_sources(made)

    def completion_failed(self, error: Exception) -> None:
        """What extensions complete with is taken away: the editor completes as it did without them."""
        self._face.presenter.error(f"Extension error ({self._completing}): {type(error).__name__}: {error}")
        self._face.app.editor_area.use_sources(sources(self._face))

    def attempt(self, owner: object, call: Callable[[], Any]) -> Any:
        """Return what `call` returns; None, with a notice that names `owner`, if it raises."""
        try:
            return call()
        except Exception as error:
            self._face.presenter.error(f"Extension error ({owner}): {type(error).__name__}: {error}")
            return None


def limited(lines: Sequence[Line], width: int) -> Sequence[Line]:
    """Return as many of `lines` as a widget may have; a line says so if those are not all."""
    return lines if len(lines) <= WIDGET_LINES else [*lines[:WIDGET_LINES], note(TRUNCATED, width)]


def note(text: str, width: int) -> Line:
    """Return a dim line of our own among an extension's."""
    from piolet.tui.blocks.frame import DIM
    from piolet.tui.spans import clip, row

    return clip(row(text, DIM), width)
