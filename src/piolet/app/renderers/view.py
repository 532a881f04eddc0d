"""What is known of a tool call when it is drawn, and how its arguments are shown while they may still be partial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from piolet.tui.blocks.frame import Frame, plain
from piolet.tui.blocks.tool_card import CardStatus
from piolet.tui.pictures import Picture
from piolet.tui.spans import Line, Span, Style, wrap
from piolet.tui.text import one_line

TITLE, PATH, OUTPUT = Style("toolTitle", bold=True), Style("accent"), Style("toolOutput")
MUTED, WARNING, ERROR = Style("muted"), Style("warning"), Style("error")
MISSING = "..."

_INVALID = Span("[invalid arg]", ERROR)


class ToolView(Struct, frozen=True):
    """A tool call. `args` may be partial or of wrong types until `complete`. `text` is that of the result, or of the
    last update. `seconds`: how long it runs or ran. `preview`: the diff that an edit will make. `pictures`: those of
    the result, shown below the body. `cwd` and `home` shorten paths."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    state: Literal["arguments", "running", "done"] = "done"
    text: str = ""
    details: Any = None
    is_error: bool = False
    seconds: float | None = None
    preview: str = ""
    pictures: Sequence[Picture] = ()
    cwd: str = ""
    home: str = ""

    @property
    def status(self) -> CardStatus:
        if self.state != "done":
            return "pending"
        return "error" if self.is_error else "success"

    def detail(self, name: str) -> Any:
        """Return a field of the details; None if they have none."""
        return self.details.get(name) if isinstance(self.details, Mapping) else None


#: Draws one part of a call in rows of `Frame.box_width` cells.
Draw: TypeAlias = Callable[[ToolView, Frame], Sequence[Line]]


class ToolRenderer(Struct, frozen=True):
    """How a tool's calls look: the lines of the call and those of its body. `boxed` False: it draws its own shell, in
    rows of `Frame.width`."""

    call: Draw
    body: Draw
    boxed: bool = True


def text_arg(view: ToolView, name: str, style: Style = OUTPUT, default: str = MISSING) -> Span:
    """Return a string argument on one line: `default` while it is missing, a mark if it is no string."""
    value = view.args.get(name)
    if value is None:
        return Span(default, OUTPUT)
    return Span(one_line(value) or default, style) if isinstance(value, str) else _INVALID


def path_arg(view: ToolView, name: str = "path", default: str = MISSING) -> Span:
    """Return a path argument, relative to the working folder or to ``~``."""
    span = text_arg(view, name, PATH, default)
    return Span(short_path(span.text, view), PATH) if span.style == PATH else span


def short_path(path: str, view: ToolView) -> str:
    """Return `path` relative to the working folder if it is inside, else with ``~`` for the home folder."""
    if view.cwd and path.startswith(view.cwd.rstrip("/") + "/"):
        return path[len(view.cwd.rstrip("/")) + 1 :]
    if view.home and (path == view.home or path.startswith(view.home + "/")):
        return "~" + path[len(view.home) :]
    return path


def number_arg(view: ToolView, name: str) -> int | None:
    """Return a number argument; None if it is missing or no number."""
    value = view.args.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def call_line(frame: Frame, name: str, *spans: Span) -> list[Line]:
    """Return the line of a call: the bold name and what follows, wrapped."""
    return wrap((Span(name, TITLE), Span(" "), *spans) if spans else (Span(name, TITLE),), frame.box_width)


def output_lines(text: str, frame: Frame, style: Style = OUTPUT) -> list[Line]:
    """Return the lines of a result's text, without blank lines at its end."""
    text = text.rstrip()
    return plain(text, frame.box_width, style) if text else []


def error_lines(view: ToolView, frame: Frame) -> list[Line]:
    """Return the text of a failed call."""
    return output_lines(view.text, frame, ERROR)


def split_notice(text: str) -> tuple[str, str]:
    """Part a result's text from the notice in brackets that ends it, if it has one."""
    body, blank, last = text.rstrip().rpartition("\n\n")
    if last.startswith("[") and last.endswith("]") and "\n" not in last and (blank or not body):
        return body, last
    return text, ""
