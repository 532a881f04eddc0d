"""``UI``: how extensions ask and show things. Each mode brings its own; `NullUI` is that of modes without anybody.

Source: the extension specification, section 5; for the RPC form of it the RPC specification, section 4. What only a
screen can do (own components, editor, header and footer) has an answer here too, so that an extension need not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

from msgspec import Struct

from piolet.base.abort import AbortSignal

if TYPE_CHECKING:
    from piolet.tui.overlay import GivenOptions, OverlayHandle
    from piolet.tui.ui_theme import UiTheme

NotifyType: TypeAlias = Literal["info", "warning", "error"]
Placement: TypeAlias = Literal["above_editor", "below_editor"]


class SetThemeResult(Struct, frozen=True):
    success: bool
    error: str | None = None


class UI(Protocol):
    """What extensions may do with the mode. Timeouts are seconds; None as an answer: cancelled, or nobody is there."""

    #: Whether somebody is there to answer.
    has_ui: ClassVar[bool]

    def of(self, owner: object) -> UI:
        """Return the same for one extension, so that what it shows is known as its own."""

    @property
    def theme(self) -> UiTheme:
        """The colours in force."""

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> str | None: ...
    async def confirm(
        self, title: str, message: str, *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> bool: ...
    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None: ...
    async def editor(self, title: str, prefill: str = "") -> str | None: ...
    async def custom(
        self,
        factory: Callable[..., Any],
        *,
        overlay: bool = False,
        overlay_options: GivenOptions = None,
        on_handle: Callable[[OverlayHandle], object] | None = None,
        blocked: bool | None = None,
    ) -> Any:
        """Show the component that ``factory(tui, theme, keybindings, done)`` makes until ``done(value)`` is called,
        or the user closes it: None.

        It stands in place of the editor or, as an `overlay`, floats over the screen; `on_handle` is given what can be
        done with the overlay then. `blocked`: work waits for the user meanwhile; by default unless it is an overlay.
        """

    def notify(self, message: str, type: NotifyType | None = None) -> None: ...
    def set_status(self, key: str, text: str | None) -> None:
        """Show a word in the footer, None takes it away."""

    def set_widget(self, key: str, content: Any, *, placement: Placement | None = None) -> None:
        """Show lines, or the component that ``content(tui, theme)`` makes, above or below the editor; None ends it."""

    def set_title(self, title: str) -> None: ...
    def set_editor_text(self, text: str) -> None: ...
    def paste_to_editor(self, text: str) -> None: ...
    def get_editor_text(self) -> str: ...

    def set_header(self, factory: Callable[..., Any] | None) -> None:
        """Show the component that ``factory(tui, theme)`` makes as header; None: the usual one."""

    def set_footer(self, factory: Callable[..., Any] | None) -> None:
        """Show the component that ``factory(tui, theme)`` makes as footer, at most ten rows; None: the usual one."""

    def set_editor_component(self, factory: Callable[..., Any] | None) -> None:
        """Let the component that ``factory(tui, theme, keybindings)`` makes draw the editor and take its keys."""

    def get_editor_component(self) -> Callable[..., Any] | None: ...
    def set_working_message(self, message: str | None = None) -> None: ...
    def set_working_visible(self, visible: bool) -> None: ...
    def set_working_indicator(self, frames: Sequence[str] | None = None, interval: float | None = None) -> None: ...
    def set_hidden_thinking_label(self, label: str | None = None) -> None: ...
    def on_terminal_input(self, handler: Callable[..., Any]) -> Callable[[], None]:
        """Let ``handler(key)`` see each key first; True: it goes no further. Return a function that ends it."""

    def add_autocomplete_provider(self, factory: Callable[..., Any]) -> None:
        """Complete the text of the editor with what ``factory(sources)`` makes of the present sources."""

    def get_all_themes(self) -> Sequence[Any]: ...
    def get_theme(self, name: str) -> Any: ...
    def set_theme(self, theme: Any) -> SetThemeResult: ...
    def get_tools_expanded(self) -> bool: ...
    def set_tools_expanded(self, expanded: bool) -> None: ...


class NullUI:
    """Nobody is there: dialogs are cancelled at once, the rest does nothing."""

    has_ui: ClassVar[bool] = False

    def of(self, owner: object) -> UI:
        return self

    @property
    def theme(self) -> UiTheme:
        from piolet.tui.ui_theme import UiTheme

        return UiTheme()

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> str | None:
        return None

    async def confirm(
        self, title: str, message: str, *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> bool:
        return False

    async def input(
        self,
        title: str,
        placeholder: str | None = None,
        *,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> str | None:
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return None

    async def custom(
        self,
        factory: Callable[..., Any],
        *,
        overlay: bool = False,
        overlay_options: GivenOptions = None,
        on_handle: Callable[[OverlayHandle], object] | None = None,
        blocked: bool | None = None,
    ) -> Any:
        return None

    def notify(self, message: str, type: NotifyType | None = None) -> None:
        pass

    def set_status(self, key: str, text: str | None) -> None:
        pass

    def set_widget(self, key: str, content: Any, *, placement: Placement | None = None) -> None:
        pass

    def set_title(self, title: str) -> None:
        pass

    def set_editor_text(self, text: str) -> None:
        pass

    def paste_to_editor(self, text: str) -> None:
        pass

    def get_editor_text(self) -> str:
        return ""

    def set_header(self, factory: Callable[..., Any] | None) -> None:
        pass

    def set_footer(self, factory: Callable[..., Any] | None) -> None:
        pass

    def set_editor_component(self, factory: Callable[..., Any] | None) -> None:
        pass

    def get_editor_component(self) -> Callable[..., Any] | None:
        return None

    def set_working_message(self, message: str | None = None) -> None:
        pass

    def set_working_visible(self, visible: bool) -> None:
        pass

    def set_working_indicator(self, frames: Sequence[str] | None = None, interval: float | None = None) -> None:
        pass

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        pass

    def on_terminal_input(self, handler: Callable[..., Any]) -> Callable[[], None]:
        return lambda: None

    def add_autocomplete_provider(self, factory: Callable[..., Any]) -> None:
        pass

    def get_all_themes(self) -> Sequence[Any]:
        return []

    def get_theme(self, name: str) -> Any:
        return None

    def set_theme(self, theme: Any) -> SetThemeResult:
        return SetThemeResult(False, "There is no screen to show a theme on")

    def get_tools_expanded(self) -> bool:
        return False

    def set_tools_expanded(self, expanded: bool) -> None:
        pass
