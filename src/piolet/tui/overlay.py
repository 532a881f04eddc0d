"""Where something stands that floats over the screen. Pure. Source: the terminal specification, section 15."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

Anchor: TypeAlias = Literal[
    "top-left",
    "top-center",
    "top-right",
    "left-center",
    "center",
    "right-center",
    "bottom-left",
    "bottom-center",
    "bottom-right",
]
#: Cells, or a share of the screen such as ``"50%"``.
Extent: TypeAlias = int | str
#: Cells that are left free at all edges, or at the top, right, bottom and left ones.
Margin: TypeAlias = int | tuple[int, int, int, int]

USUAL_WIDTH = 80


class OverlayOptionsError(ValueError):
    """What an extension has asked for is no place on a screen."""


class Region(NamedTuple):
    """Cells of the screen."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class OverlayOptions:
    """`anchor`: what it leans on; `offset_x`, `offset_y`: cells further right and down. Without `width` it is as wide
    as there is room, up to 80 cells; without `height` as tall as what is drawn. `visible(columns, rows)`: whether it is
    shown on a screen of that size. `focused`: it has the keys from the beginning."""

    anchor: Anchor = "center"
    offset_x: int = 0
    offset_y: int = 0
    width: Extent | None = None
    min_width: Extent | None = None
    max_width: Extent | None = None
    height: Extent | None = None
    min_height: Extent | None = None
    max_height: Extent | None = None
    margin: Margin = 0
    visible: Callable[[int, int], bool] | None = None
    focused: bool = True

    @classmethod
    def of(cls, given: OverlayOptions | Mapping[str, Any] | None) -> OverlayOptions:
        """Return the options that `given` names, in either spelling (``offset_x``, ``offsetX``). Raises
        `OverlayOptionsError`."""
        if given is None:
            return cls()
        if isinstance(given, OverlayOptions):
            return given
        known = {field.name for field in fields(cls)}
        values = {_snake(name): value for name, value in given.items()}
        if unknown := sorted(set(values) - known):
            raise OverlayOptionsError(f"Overlays have no option {unknown[0]!r}; there are {', '.join(sorted(known))}")
        if values.get("anchor", "center") not in get_args(Anchor):
            raise OverlayOptionsError(
                f"An overlay cannot stand at {values['anchor']!r}; there are {', '.join(get_args(Anchor))}"
            )
        return cls(**values)


def checked(options: OverlayOptions) -> OverlayOptions:
    """Return `options` if a place can be found by them. Raises what is wrong."""
    place(options, (80, 24), 1)
    return options


#: Options as extensions give them, or what gives those that hold now.
GivenOptions: TypeAlias = OverlayOptions | Mapping[str, Any] | Callable[[], OverlayOptions | Mapping[str, Any]] | None


class OverlayHandle(Protocol):
    """What can be done with an overlay that is there."""

    def hide(self) -> None:
        """Take it away for good."""

    def set_hidden(self, hidden: bool) -> None:
        """Let it be seen, or not, for a while."""

    def is_hidden(self) -> bool: ...

    def focus(self) -> None:
        """Give it the keys."""

    def unfocus(self) -> None:
        """Give the keys back to what is beneath."""

    def is_focused(self) -> bool: ...


def columns_of(options: OverlayOptions, columns: int) -> int:
    """Return the width that an overlay is drawn in on a screen of `columns`."""
    _, right, _, left = _margins(options.margin)
    room = max(1, columns - left - right)
    return _extent(options.width, options.min_width, options.max_width, columns, min(USUAL_WIDTH, room), room)


def place(options: OverlayOptions, screen: tuple[int, int], drawn: int, canvas: int | None = None) -> Region:
    """Return where an overlay of `drawn` lines stands on a screen of columns and rows, of which the last `canvas` rows
    are there to be drawn on (default: all). It never leaves them."""
    columns, rows = screen
    top, right, bottom, left = _margins(options.margin)
    width = columns_of(options, columns)
    room = max(1, rows - top - bottom)
    height = _extent(options.height, options.min_height, options.max_height, rows, drawn, room)
    across, down = _anchored(options.anchor)
    rows = rows if canvas is None else canvas
    height = max(1, min(height, rows))
    x = left + int((columns - left - right - width) * across) + options.offset_x
    y = top + int(max(0, rows - top - bottom - height) * down) + options.offset_y
    return Region(max(0, min(x, columns - width)), max(0, min(y, rows - height)), width, height)


def _anchored(anchor: Anchor) -> tuple[float, float]:
    """Return which shares of the free room are left of it, and above."""
    across = 0.0 if anchor.endswith("left") or anchor.startswith("left") else 0.5
    across = 1.0 if anchor.endswith("right") or anchor.startswith("right") else across
    return across, 0.0 if anchor.startswith("top") else 1.0 if anchor.startswith("bottom") else 0.5


def _extent(wanted: Extent | None, least: Extent | None, most: Extent | None, whole: int, usual: int, room: int) -> int:
    size = usual if wanted is None else _cells(wanted, whole)
    if least is not None:
        size = max(size, _cells(least, whole))
    if most is not None:
        size = min(size, _cells(most, whole))
    return max(1, min(size, room))


def _cells(extent: Extent, whole: int) -> int:
    if isinstance(extent, int):
        return extent
    try:
        return round(whole * float(extent.removesuffix("%")) / 100)
    except ValueError:
        raise OverlayOptionsError(f"{extent!r} is no size: give cells, or a share such as '50%'") from None


def rows_around(margin: Margin) -> int:
    """Return the rows that are left free above and below."""
    top, _, bottom, _ = _margins(margin)
    return top + bottom


def _margins(margin: Margin) -> tuple[int, int, int, int]:
    return (margin,) * 4 if isinstance(margin, int) else margin


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
