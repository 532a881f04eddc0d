"""Styled lines as the toolkit's strips, in the colours of a theme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip

from piolet.tui.spans import PLAIN, Color, Line, Span, Style, clip, line_width

KEPT = 4096  # strips that are kept to be used again, the longest unused going first


class StripMaker:
    """Makes strips. Equal lines give the same strip, so that what the toolkit caches in it serves again."""

    def __init__(self, palette: Mapping[str, Color], *, hyperlinks: bool = True) -> None:
        """`palette`: the literal colour of each theme token; empty: no colours."""
        self.palette = palette
        self.hyperlinks = hyperlinks
        self._styles: dict[Style, RichStyle] = {}
        self._strips: dict[tuple[Line, int], Strip] = {}

    def strip(self, line: Line, width: int) -> Strip:
        """Return `line` cut or filled to `width` cells."""
        key = (line, width)
        strip = self._strips.pop(key, None)
        if strip is None:
            strip = self._make(line, width)
            if len(self._strips) >= KEPT:
                self._strips.pop(next(iter(self._strips)))
        self._strips[key] = strip
        return strip

    def _make(self, line: Line, width: int) -> Strip:
        size = line_width(line)
        if size > width:
            line = clip(line, width, "")
            size = line_width(line)
        segments = self._segments(line)
        if size < width:
            segments.append(Segment(" " * (width - size), self.style(PLAIN)))
        return Strip(segments, width)

    def _segments(self, line: Iterable[Span]) -> list[Segment]:
        return [Segment(text, self.style(style)) for text, style in line if text]

    def style(self, style: Style) -> RichStyle:
        """Return the toolkit's form of `style`."""
        known = self._styles.get(style)
        if known is None:
            known = self._styles[style] = RichStyle(
                color=self._color(style.fg),
                bgcolor=self._color(style.bg),
                bold=style.bold or None,
                dim=style.dim or None,
                italic=style.italic or None,
                underline=style.underline or None,
                strike=style.strike or None,
                reverse=style.reverse or None,
                link=style.link or None if self.hyperlinks else None,
            )
        return known

    def _color(self, color: Color | None) -> RichColor | None:
        if isinstance(color, str) and not color.startswith("#"):
            color = self.palette.get(color)
        if color is None:
            return None
        if isinstance(color, int):
            return RichColor.from_ansi(color)
        return RichColor.parse(color) if color else RichColor.default()
