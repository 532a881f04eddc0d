"""Styled lines as strings with escape sequences, and back: what components draw and terminals take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from piolet.base.ansi import strip_escapes
from piolet.tui import spans, text
from piolet.tui.spans import PLAIN, Color, Line, Span, Style

RESET = "\x1b[0m"
_sequence = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\]8;[^;\x07\x1b]*;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_ON = {
    1: Style(bold=True),
    2: Style(dim=True),
    3: Style(italic=True),
    4: Style(underline=True),
    7: Style(reverse=True),
    9: Style(strike=True),
}


def sgr(color: Color, *, background: bool = False) -> str:
    """Return the SGR parameters of a literal `color`: ``#rrggbb``, an index, or "" for the terminal's default."""
    base = 40 if background else 30
    if isinstance(color, int):
        if color < 8:
            return str(base + color)
        return str(base + 52 + color) if color < 16 else f"{base + 8};5;{color}"
    if color.startswith("#"):
        value = int(color[1:], 16)
        return f"{base + 8};2;{value >> 16};{value >> 8 & 255};{value & 255}"
    return str(base + 9)


class AnsiWriter:
    """Writes lines as escape sequences. `palette` gives the literal colour of a theme token; a token that it lacks is
    left uncoloured, so an empty palette means no colours at all."""

    def __init__(self, palette: Mapping[str, Color], *, links: bool = True) -> None:
        self._palette = palette
        self._links = links
        self._openings: dict[Style, str] = {}

    def line(self, line: Iterable[Span]) -> str:
        """Return `line` as a string that leaves no style behind."""
        parts: list[str] = []
        for content, style in line:
            opening = self._openings.get(style)
            if opening is None:
                opening = self._openings[style] = self._open(style)
            piece = f"{opening}{content}{RESET}" if opening else content
            if style.link and self._links:
                piece = f"\x1b]8;;{strip_escapes(style.link)}\x1b\\{piece}\x1b]8;;\x1b\\"
            parts.append(piece)
        return "".join(parts)

    def lines(self, lines: Iterable[Line]) -> list[str]:
        """Return each of `lines` as `line` does."""
        return [self.line(line) for line in lines]

    def _open(self, style: Style) -> str:
        codes = [str(code) for code, on in _ON.items() if on.over(style) == style]
        for color, background in ((style.fg, False), (style.bg, True)):
            literal = self._literal(color)
            if literal is not None:
                codes.append(sgr(literal, background=background))
        return f"\x1b[{';'.join(codes)}m" if codes else ""

    def _literal(self, color: Color | None) -> Color | None:
        if color is None or isinstance(color, int) or color.startswith("#"):
            return color
        return self._palette.get(color)


_literal = AnsiWriter({})


def parse(string: str) -> list[Line]:
    """Return the lines of a string with SGR and OSC 8 sequences; every other sequence and control is dropped."""
    lines: list[Line] = []
    style = PLAIN
    for source in string.split("\n"):
        line: list[Span] = []
        at = 0
        for match in _sequence.finditer(source):
            _add(line, source[at : match.start()], style)
            style = style._replace(link=match[2]) if match[1] is None else _apply(style, match[1])
            at = match.end()
        _add(line, source[at:], style)
        lines.append(tuple(line))
    return lines


def _add(line: list[Span], content: str, style: Style) -> None:
    if content := text.expand_tabs(text.safe_for_terminal(content)):
        line.append(Span(content, style))


def _apply(style: Style, parameters: str) -> Style:
    """Return `style` after one SGR sequence."""
    codes = [int(code) if code else 0 for code in parameters.replace(":", ";").split(";")]
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        match code:
            case 0:
                style = PLAIN._replace(link=style.link)
            case 1 | 2 | 3 | 4 | 7 | 9:
                style = _ON[code].over(style)
            case 22:
                style = style._replace(bold=False, dim=False)
            case 23:
                style = style._replace(italic=False)
            case 24:
                style = style._replace(underline=False)
            case 27:
                style = style._replace(reverse=False)
            case 29:
                style = style._replace(strike=False)
            case 38 | 48:
                color, used = _extended(codes[at:])
                at += used
                style = style._replace(fg=color) if code == 38 else style._replace(bg=color)
            case 39:
                style = style._replace(fg=None)
            case 49:
                style = style._replace(bg=None)
            case _ if 30 <= code <= 37 or 90 <= code <= 97:
                style = style._replace(fg=code - (30 if code < 90 else 82))
            case _ if 40 <= code <= 47 or 100 <= code <= 107:
                style = style._replace(bg=code - (40 if code < 100 else 92))
    return style


def _extended(codes: list[int]) -> tuple[Color | None, int]:
    match codes:
        case [5, index, *_]:
            return min(index, 255), 2
        case [2, red, green, blue, *_]:
            return "#" + "".join(f"{min(value, 255):02x}" for value in (red, green, blue)), 4
        case _:
            return None, len(codes)


def width(string: str) -> int:
    """Return the cells that a string takes on the screen; sequences take none."""
    return text.width(strip_escapes(string) if "\x1b" in string or "\x9b" in string else string)


def truncate(string: str, limit: int, ellipsis: str = text.ELLIPSIS) -> str:
    """Return the string cut to `limit` cells; its styles end with it."""
    if "\x1b" not in string:
        return text.truncate(string, limit, ellipsis)
    return _each(string, lambda line: [spans.clip(line, limit, ellipsis)])


def wrap(string: str, limit: int) -> list[str]:
    """Return the string in rows of at most `limit` cells; each row carries its own styles."""
    if "\x1b" not in string:
        return text.wrap(string, limit)
    return _each(string, lambda line: spans.wrap(line, limit)).split("\n")


def _each(string: str, change: Callable[[Line], list[Line]]) -> str:
    return "\n".join(_literal.line(row) for line in parse(string) for row in change(line))
