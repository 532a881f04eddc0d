"""What a terminal can do, decided from its environment, the user's settings and its replies. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

ColorDepth: TypeAlias = Literal["none", "256", "truecolor"]
ImageProtocol: TypeAlias = Literal["none", "kitty", "iterm2", "sixel"]

#: What to ask a terminal at the start: foreground, background, the 16 palette colours, attributes (answered last).
COLOR_QUERY = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\" + "".join(f"\x1b]4;{n};?\x1b\\" for n in range(16))
ATTRIBUTES_QUERY = "\x1b[c"
CELL_QUERY = "\x1b[16t"  # how many pixels a cell has

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
# By TERM_PROGRAM, or a part of TERM; all of them have truecolor and OSC 8.
_MODERN_PROGRAMS = frozenset(["iterm.app", "wezterm", "ghostty", "vscode", "hyper", "tabby", "rio", "warpterminal"])
_MODERN_TERMS = ("kitty", "ghostty", "alacritty", "foot", "wezterm", "contour", "-direct")
_PROTOCOLS: dict[str, ImageProtocol] = {
    "none": "none",
    "off": "none",
    "kitty": "kitty",
    "iterm": "iterm2",
    "iterm2": "iterm2",
    "sixel": "sixel",
}
_color_reply = re.compile(
    r"\x1b\](10|11|4;\d+);(?:rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})|#([0-9a-fA-F]{6}))"
)
_attributes_reply = re.compile(r"\x1b\[\?([0-9;]+)c")
_cell_reply = re.compile(r"\x1b\[6;(\d{1,4});(\d{1,4})t")
_SIXEL = "4"  # among the attributes


@dataclass(frozen=True, slots=True)
class TerminalCaps:
    """`multiplexed`: tmux or screen stands between. `dumb`: it is asked and told nothing beside the screen."""

    colors: ColorDepth = "256"
    hyperlinks: bool = False
    images: ImageProtocol = "none"
    multiplexed: bool = False
    dumb: bool = False


@dataclass(frozen=True, slots=True)
class CapsChoice:
    """The user's own word (settings ``terminal.*``); None: find out."""

    true_color: bool | None = None
    hyperlinks: bool | None = None
    images: str | None = None


def detect(env: Mapping[str, str], choice: CapsChoice | None = None, *, sixel: bool = False) -> TerminalCaps:
    """Return what the terminal of the environment `env` can do. Variables win over `choice`, and that over a guess.
    `sixel`: the terminal has said that it draws that (`has_sixel`)."""
    choice = choice or CapsChoice()
    term = env.get("TERM", "").lower()
    multiplexed = bool(env.get("TMUX") or env.get("STY") or term.startswith(("tmux", "screen")))
    program = env.get("TERM_PROGRAM", "").lower()
    modern = (
        program in _MODERN_PROGRAMS
        or any(part in term for part in _MODERN_TERMS)
        or any(env.get(name) for name in ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "GHOSTTY_RESOURCES_DIR"))
        or _number(env.get("VTE_VERSION", "")) >= 5000
    )
    links = _said(env.get("PI_HYPERLINKS"), choice.hyperlinks)
    return TerminalCaps(
        _colors(env, term, modern and not multiplexed, choice),
        (modern and not multiplexed) if links is None else links,
        _images(env, term, program, multiplexed, choice, sixel),
        multiplexed,
        term == "dumb",
    )


def _colors(env: Mapping[str, str], term: str, modern: bool, choice: CapsChoice) -> ColorDepth:
    if env.get("NO_COLOR") or term == "dumb":
        return "none"
    truecolor = _said(env.get("PI_TRUE_COLOR"), choice.true_color)
    if truecolor is None:
        truecolor = modern or env.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return "truecolor" if truecolor else "256"


def _images(
    env: Mapping[str, str], term: str, program: str, multiplexed: bool, choice: CapsChoice, sixel: bool
) -> ImageProtocol:
    said = (env.get("PI_IMAGE_PROTOCOL") or choice.images or "auto").lower()
    if said in _PROTOCOLS:
        return _PROTOCOLS[said]
    if multiplexed or term == "dumb" or env.get("NO_COLOR"):
        return "none"
    if env.get("KITTY_WINDOW_ID") or env.get("GHOSTTY_RESOURCES_DIR") or "kitty" in term or "ghostty" in term:
        return "kitty"
    if program in ("wezterm", "ghostty") or env.get("KONSOLE_VERSION"):
        return "kitty"
    if program == "iterm.app" or env.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    return "sixel" if sixel or "foot" in term or "mlterm" in term or "sixel" in term else "none"


def _said(variable: str | None, choice: bool | None) -> bool | None:
    word = (variable or "").lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else choice


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def read_color(reply: str) -> tuple[str, str] | None:
    """Return which colour a reply to `COLOR_QUERY` gives (``10``, ``11``, ``4;N``) and the colour as ``#rrggbb``; None
    if it is no such reply."""
    match = _color_reply.match(reply)
    if not match:
        return None
    if match[5]:
        return match[1], f"#{match[5].lower()}"
    channels = [round(int(digits, 16) * 255 / (16 ** len(digits) - 1)) for digits in match.groups()[1:4]]
    return match[1], "#" + "".join(f"{channel:02x}" for channel in channels)


def is_attributes(reply: str) -> bool:
    """Whether this is the reply to `ATTRIBUTES_QUERY`, which comes after all that was asked before."""
    return _attributes_reply.match(reply) is not None


def has_sixel(reply: str) -> bool:
    """Whether this reply to `ATTRIBUTES_QUERY` tells of sixel graphics."""
    match = _attributes_reply.match(reply)
    return match is not None and _SIXEL in match[1].split(";")[1:]


def read_cell(reply: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a cell, if this reply to `CELL_QUERY` tells them."""
    match = _cell_reply.match(reply)
    height, width = (int(match[1]), int(match[2])) if match else (0, 0)
    return (width, height) if width and height else None
