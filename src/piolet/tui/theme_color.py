"""Colours of themes: what a value means, the nearest of 256, contrast. Pure.

A literal colour is ``#rrggbb``, an index 0-255 of the terminal's palette, or "" for the terminal's default. Sources:
the resources specification, section 7; for ``oklch`` and ``okhsl`` Björn Ottosson's definition of Oklab and Okhsl.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from piolet.tui.spans import Color

_HEX = re.compile(r"#(?:([0-9a-fA-F]{3})|([0-9a-fA-F]{6}))")
_NUMBER = r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)"
_HUE = rf"{_NUMBER}(?:deg)?"
_FUNCTIONS = {
    "oklch": re.compile(rf"oklch\(\s*{_NUMBER}(%)?\s+{_NUMBER}\s+{_HUE}\s*\)", re.IGNORECASE),
    "okhsl": re.compile(rf"okhsl\(\s*{_HUE}\s+{_NUMBER}(%)?\s+{_NUMBER}(%)?\s*\)", re.IGNORECASE),
}
_CUBE = (0, 95, 135, 175, 215, 255)
_GRAYS = tuple(8 + 10 * step for step in range(24))
_SYSTEM = (
    "000000 800000 008000 808000 000080 800080 008080 c0c0c0 808080 ff0000 00ff00 ffff00 0000ff ff00ff 00ffff ffffff"
)


class ColorError(ValueError):
    """A value that is no colour; the text shows it and says why."""


class Rgb(NamedTuple):
    """Channels, 0 to 255."""

    red: int
    green: int
    blue: int

    @property
    def hex(self) -> str:
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"


def parse_color(value: object) -> str | int:
    """Return the literal colour that ``#rgb``, ``#rrggbb``, 0-255, ``oklch(L C H)`` or ``okhsl(H S L)`` means.

    A colour outside sRGB loses chroma until it fits. Raises `ColorError`; the empty string is no colour here.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value != int(value) or not 0 <= value <= 255:
            raise ColorError(f"{value!r} is no colour index: use a whole number from 0 to 255")
        return int(value)
    if not isinstance(value, str):
        raise ColorError(f"{value!r} is no colour")
    if match := _HEX.fullmatch(value):
        digits = match[2] or "".join(digit * 2 for digit in match[1])
        return f"#{digits.lower()}"
    for name, read in (("oklch", _read_oklch), ("okhsl", _read_okhsl)):
        if match := _FUNCTIONS[name].fullmatch(value):
            try:
                return read(*match.groups()).hex
            except ValueError as error:
                raise ColorError(f"{value!r} is no colour: {error}") from None
    raise ColorError(f"{value!r} is no colour: use #rgb, #rrggbb, 0-255, oklch(L C H) or okhsl(H S L)")


def rgb(color: Color) -> Rgb:
    """Return the channels of a literal colour (not the default); indices as terminals usually show them."""
    if isinstance(color, str):
        value = int(color[1:], 16)
    elif color < 16:
        value = int(_SYSTEM.split()[color], 16)
    elif color < 232:
        level = color - 16
        return Rgb(_CUBE[level // 36], _CUBE[level // 6 % 6], _CUBE[level % 6])
    else:
        return Rgb(*[_GRAYS[color - 232]] * 3)
    return Rgb(value >> 16, value >> 8 & 255, value & 255)


def to_index(color: Color) -> int:
    """Return the index of 16-255 that is nearest to a literal colour; an index stays as it is.

    Each channel goes to its nearest step of the cube; a grey takes its place where it is nearer, for colours that are
    nearly grey themselves.
    """
    if isinstance(color, int):
        return color
    channels = rgb(color)
    steps = [_nearest(channel, _CUBE) for channel in channels]
    cube = Rgb(*(_CUBE[step] for step in steps))
    gray = _nearest(round(_luma(channels)), _GRAYS)
    if max(channels) - min(channels) < 10 and _distance(Rgb(*[_GRAYS[gray]] * 3), channels) < _distance(cube, channels):
        return 232 + gray
    return 16 + 36 * steps[0] + 6 * steps[1] + steps[2]


def luminance(color: Color) -> float:
    """Return the relative luminance of a literal colour, 0 (black) to 1 (white), as WCAG 2 defines it."""
    red, green, blue = (_linear(channel / 255) for channel in rgb(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two literal colours, 1 to 21, as WCAG 2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _nearest(value: int, steps: tuple[int, ...]) -> int:
    return min(range(len(steps)), key=lambda index: abs(steps[index] - value))


def _luma(channels: Rgb) -> float:
    return 0.299 * channels.red + 0.587 * channels.green + 0.114 * channels.blue


def _distance(one: Rgb, other: Rgb) -> float:
    return _luma(Rgb(*((a - b) ** 2 for a, b in zip(one, other, strict=True))))


# ------------------------------------------------------------------------------------------------------------- Oklab


def _read_oklch(lightness: str, percent: str | None, chroma: str, hue: str) -> Rgb:
    if float(chroma) < 0:
        raise ValueError("the chroma is negative")
    angle = math.radians(float(hue) % 360)
    return _from_oklab(_share("lightness", lightness, percent), float(chroma), math.cos(angle), math.sin(angle))


def _read_okhsl(hue: str, saturation: str, s_percent: str | None, lightness: str, l_percent: str | None) -> Rgb:
    angle = math.radians(float(hue) % 360)
    a, b = math.cos(angle), math.sin(angle)
    s = _share("saturation", saturation, s_percent)
    toned = _share("lightness", lightness, l_percent)
    k1, k2 = 0.206, 0.03
    light = (toned * toned + k1 * toned) / ((1 + k1) / (1 + k2) * (toned + k2))
    return _from_oklab(light, _okhsl_chroma(s, light, a, b) if 0 < light < 1 else 0, a, b)


def _share(what: str, number: str, percent: str | None) -> float:
    value = float(number) / (100 if percent else 1)
    if not 0 <= value <= 1:
        raise ValueError(f"the {what} is not between 0 and 1, or 0% and 100%")
    return value


def _okhsl_chroma(saturation: float, light: float, a: float, b: float) -> float:
    """Chroma of an Okhsl saturation: three known points (0, 0.8, 1) with a curve between them."""
    most = _most_chroma(light, a, b)
    cusp_light, cusp_chroma = _cusp(a, b)
    k = most / min(light * cusp_chroma / cusp_light, (1 - light) * cusp_chroma / (1 - cusp_light))
    s_mid = 0.11516993 + 1 / (
        7.44778970
        + 4.15901240 * b
        + a
        * (
            -2.19557347
            + 1.75198401 * b
            + a * (-2.13704948 - 10.02301043 * b + a * (-4.24894561 + 5.38770819 * b + 4.69891013 * a))
        )
    )
    t_mid = 0.11239642 + 1 / (
        1.61320320
        - 0.68124379 * b
        + a
        * (
            0.40370612
            + 0.90148123 * b
            + a * (-0.27087943 + 0.61223990 * b + a * (0.00299215 - 0.45399568 * b - 0.14661872 * a))
        )
    )
    middle: float = 0.9 * k * ((light * s_mid) ** -4 + ((1 - light) * t_mid) ** -4) ** -0.25
    start: float = ((light * 0.4) ** -2 + ((1 - light) * 0.8) ** -2) ** -0.5
    if saturation < 0.8:
        t = saturation / 0.8
        slope = 0.8 * start
        return t * slope / (1 - (1 - slope / middle) * t)
    t = (saturation - 0.8) / 0.2
    slope = 0.2 * (middle / 0.8) ** 2 / start
    return middle + t * slope / (1 - (1 - slope / (most - middle)) * t)


def _cusp(a: float, b: float) -> tuple[float, float]:
    """Lightness and chroma of the most colourful point of a hue: there one channel is 0 and another 1."""
    saturation = _last(lambda value: min(_linear_rgb(1, value, a, b)) >= 0, 2)
    light: float = (1 / max(_linear_rgb(1, saturation, a, b))) ** (1 / 3)
    return light, light * saturation


def _most_chroma(light: float, a: float, b: float) -> float:
    def fits(chroma: float) -> bool:
        channels = _linear_rgb(light, chroma, a, b)
        return min(channels) >= -1e-9 and max(channels) <= 1 + 1e-9

    return _last(fits, 1)


def _last(fits: Callable[[float], bool], high: float) -> float:
    """Return the largest value below `high` that fits; all below it do."""
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _from_oklab(light: float, chroma: float, a: float, b: float) -> Rgb:
    channels = _linear_rgb(light, min(chroma, _most_chroma(light, a, b)), a, b)
    return Rgb(*(round(255 * min(max(_gamma(channel), 0), 1)) for channel in channels))


def _linear_rgb(light: float, chroma: float, a: float, b: float) -> tuple[float, float, float]:
    """Linear sRGB of an Oklab colour whose hue points to (`a`, `b`)."""
    a, b = a * chroma, b * chroma
    l_cone = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m_cone = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s_cone = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * l_cone - 3.3077115913 * m_cone + 0.2309699292 * s_cone,
        -1.2684380046 * l_cone + 2.6097574011 * m_cone - 0.3413193965 * s_cone,
        -0.0041960863 * l_cone - 0.7034186147 * m_cone + 1.7076147010 * s_cone,
    )


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
