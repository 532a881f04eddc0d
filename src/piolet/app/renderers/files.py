"""How read, write, edit and ls look."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.app.renderers.view import (
    ERROR,
    OUTPUT,
    TITLE,
    WARNING,
    ToolRenderer,
    ToolView,
    call_line,
    error_lines,
    number_arg,
    output_lines,
    path_arg,
    split_notice,
)
from piolet.tui.blocks.folding import first_rows, hint
from piolet.tui.blocks.frame import Frame, joined, plain
from piolet.tui.diff import diff_lines
from piolet.tui.highlight import highlight, language_of
from piolet.tui.spans import Line, Span, wrap

WRITE_ROWS = 10
LS_ROWS = 20
CONTEXT_FILES = frozenset(["AGENTS.md", "CLAUDE.md"])


def _code(text: str, path: str, frame: Frame) -> list[Line]:
    lines = highlight(text, language_of(path), OUTPUT)
    return [row for line in lines for row in wrap(line, frame.box_width)]


def _path_of(view: ToolView) -> str:
    path = view.args.get("path")
    return path if isinstance(path, str) else ""


# ---------------------------------------------------------------------------------------------------------------- read


def _read_call(view: ToolView, frame: Frame) -> Sequence[Line]:
    path = path_arg(view)
    offset, limit = number_arg(view, "offset"), number_arg(view, "limit")
    spans = [path]
    if offset is not None or limit is not None:
        start = max(1, offset or 1)
        spans.append(Span(f":{start}-{start + limit - 1}" if limit else f":{start}", WARNING))
    folder, _, name = path.text.rpartition("/")
    if name == "SKILL.md" and folder and not frame.expanded:
        return call_line(frame, "[skill]", Span(folder.rpartition("/")[2], path.style))
    if name in CONTEXT_FILES and not frame.expanded:
        return wrap((Span("read", TITLE), Span(" resource ", OUTPUT), *spans), frame.box_width)
    return call_line(frame, "read", *spans)


def _read_body(view: ToolView, frame: Frame) -> Sequence[Line]:
    if view.is_error:
        return error_lines(view, frame)
    if not frame.expanded or not view.text:
        return ()
    text, notice = split_notice(view.text)
    lines = _code(text.rstrip("\n"), "" if view.pictures else _path_of(view), frame) if text else []
    return [*lines, *plain(notice, frame.box_width, WARNING)] if notice else lines


# --------------------------------------------------------------------------------------------------------------- write


def _write_call(view: ToolView, frame: Frame) -> Sequence[Line]:
    return call_line(frame, "write", path_arg(view))


def _write_body(view: ToolView, frame: Frame) -> Sequence[Line]:
    content = view.args.get("content")
    failure = error_lines(view, frame) if view.is_error else []
    if content is not None and not isinstance(content, str):
        return joined(plain("[invalid content]", frame.box_width, ERROR), failure)
    source = content.removesuffix("\n").split("\n") if content else []
    hidden = 0 if frame.expanded else max(0, len(source) - WRITE_ROWS)
    lines = _code("\n".join(source[: len(source) - hidden]), _path_of(view), frame) if source else []
    if hidden:
        lines.append(hint(f"{hidden} more lines, {len(source)} total", frame))
    return joined(lines, failure)


# ---------------------------------------------------------------------------------------------------------------- edit


def _edit_call(view: ToolView, frame: Frame) -> Sequence[Line]:
    return call_line(frame, "edit", path_arg(view))


def _edit_body(view: ToolView, frame: Frame) -> Sequence[Line]:
    if view.is_error:
        return error_lines(view, frame)
    diff = view.detail("diff") if view.state == "done" else view.preview
    return diff_lines(diff, frame.box_width) if isinstance(diff, str) and diff else []


# ------------------------------------------------------------------------------------------------------------------ ls


def _ls_call(view: ToolView, frame: Frame) -> Sequence[Line]:
    limit = number_arg(view, "limit")
    suffix = [Span(f" (limit {limit})", OUTPUT)] if limit is not None else []
    return call_line(frame, "ls", path_arg(view, default="."), *suffix)


def _ls_body(view: ToolView, frame: Frame) -> Sequence[Line]:
    return listing(view, frame, LS_ROWS)


def listing(view: ToolView, frame: Frame, limit: int) -> list[Line]:
    """Return the first lines of a result that is a list, and the notice that ends it."""
    if view.is_error:
        return error_lines(view, frame)
    text, notice = split_notice(view.text)
    lines = first_rows(output_lines(text, frame), limit, frame)
    return [*lines, *plain(notice, frame.box_width, WARNING)] if notice else lines


READ = ToolRenderer(_read_call, _read_body)
WRITE = ToolRenderer(_write_call, _write_body)
EDIT = ToolRenderer(_edit_call, _edit_body)
LS = ToolRenderer(_ls_call, _ls_body)
