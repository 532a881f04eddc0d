"""The theme as components use it: text in, text with escape sequences out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from piolet.tui.ansi import RESET, AnsiWriter
from piolet.tui.spans import Color, Line, Span, Style


class UiTheme:
    """Colours by token and attributes. Nested calls work: what is inside keeps its own style where it sets one."""

    def __init__(self, palette: Mapping[str, Color] | None = None, *, hyperlinks: bool = True) -> None:
        """`palette`: the literal colour of each token; none: no colours."""
        self.use(palette or {}, hyperlinks=hyperlinks)

    def use(self, palette: Mapping[str, Color], *, hyperlinks: bool = True) -> None:
        """Go on with other colours: who keeps this object draws in them from now on."""
        self.hyperlinks = hyperlinks
        self._writer = AnsiWriter(palette, links=hyperlinks)

    def fg(self, token: str, text: str) -> str:
        """Return `text` in the colour of a theme token."""
        return self._styled(Style(fg=token), text)

    def bg(self, token: str, text: str) -> str:
        """Return `text` on the background of a theme token."""
        return self._styled(Style(bg=token), text)

    def bold(self, text: str) -> str:
        return self._styled(Style(bold=True), text)

    def italic(self, text: str) -> str:
        return self._styled(Style(italic=True), text)

    def underline(self, text: str) -> str:
        return self._styled(Style(underline=True), text)

    def inverse(self, text: str) -> str:
        return self._styled(Style(reverse=True), text)

    def strikethrough(self, text: str) -> str:
        return self._styled(Style(strike=True), text)

    def lines(self, lines: Iterable[Line]) -> list[str]:
        """Return styled lines as strings."""
        return self._writer.lines(lines)

    def _styled(self, style: Style, text: str) -> str:
        opening, _, _ = self._writer.line((Span("\0", style),)).partition("\0")
        return opening + text.replace(RESET, RESET + opening) + RESET if opening and text else text
