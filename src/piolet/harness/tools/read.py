"""The read tool: a text file from a line on, or an image. Source: the tools specification, section 2."""

from __future__ import annotations

import math
from typing import Any, Final

from msgspec import Struct, field

from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.environments.base import Environment, FileInfo
from piolet.harness.tools.content import SNIFF_BYTES, binary_kind, image_type, wide_encoding
from piolet.harness.tools.errors import ToolError, describe
from piolet.harness.tools.options import DEFAULT_OPTIONS, ToolOptions
from piolet.harness.tools.paths import existing_path
from piolet.harness.tools.truncate import MAX_BYTES, MAX_LINES, format_size, truncate_head, with_totals
from piolet.llm.messages import TextContent, UserBlock

_CHUNK: Final = 4 * 1024 * 1024
#: Larger files in a wide encoding or with an image are refused: these are read whole.
_WHOLE_LIMIT: Final = 256 * 1024 * 1024

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to read, relative to the working directory or absolute"},
        "offset": {"type": "number", "description": "Line to begin with, counted from 1"},
        "limit": {"type": "number", "description": "How many lines to read"},
    },
    "required": ["path"],
}


def create_read_tool(environment: Environment, options: ToolOptions = DEFAULT_OPTIONS) -> AgentTool:
    """Return the tool ``read`` for files of `environment`."""

    async def execute(
        tool_call_id: str, arguments: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> ToolResult:
        path = arguments["path"]
        target = await existing_path(environment, path, tolerant=True)
        try:
            info = await environment.stat(target)
            if info is None:
                raise ToolError(f"ENOENT: no such file or directory, access '{target}'")
            _require_file(info, path)
            head = await environment.read_bytes(target, limit=SNIFF_BYTES)
            signal.throw_if_aborted()
            mime_type = image_type(head)
            if mime_type is not None:
                return await _read_image(environment, target, info, mime_type, options)
            return await _read_text(environment, path, target, info, head, arguments, signal)
        except OSError as error:
            raise ToolError(describe(error, "access", target)) from error

    return AgentTool(
        name="read",
        label="read",
        description=(
            f"Read a file. Text is returned as it is, at most {MAX_LINES} lines or {MAX_BYTES // 1024} KB at a time; "
            "continue a longer file with offset and limit. Images (PNG, JPEG, GIF, WebP, BMP) are shown to you."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        prompt_snippet="Read text files and look at images",
        prompt_guidelines=("Look at files with read, not with cat, head or sed.",),
    )


def _require_file(info: FileInfo, path: str) -> None:
    if info.kind == "directory":
        raise ToolError("EISDIR: illegal operation on a directory, read")
    if info.kind != "file":
        raise ToolError(f"{path} is not a regular file but a {info.kind}; it cannot be read.")


async def _read_image(
    environment: Environment, target: str, info: FileInfo, mime_type: str, options: ToolOptions
) -> ToolResult:
    import asyncio

    from piolet.harness.tools.images import deliver

    if info.size > _WHOLE_LIMIT:
        raise ToolError(f"The image is too large to be read ({format_size(info.size)}).")
    data = await environment.read_bytes(target)
    delivery = await asyncio.to_thread(deliver, data, mime_type, options.image_settings())
    blocks: list[UserBlock] = [TextContent(delivery.note)]
    structured: Any = delivery.note
    if delivery.image is not None:
        blocks.append(delivery.image)
        structured = {"type": "image", "data": delivery.image.data, "mimeType": delivery.image.mime_type}
        structured["note"] = delivery.note
    blind = options.blind_model()
    details = {"imageUnsupportedByModel": blind} if blind is not None and delivery.image is not None else None
    return ToolResult(blocks, details, structured_content=structured)


async def _read_text(
    environment: Environment,
    path: str,
    target: str,
    info: FileInfo,
    head: bytes,
    arguments: dict[str, Any],
    signal: AbortSignal,
) -> ToolResult:
    first, limit = _whole_number(arguments.get("offset"), 1), _whole_number(arguments.get("limit"), None)
    window = _LineWindow(first or 1, limit)
    encoding = wide_encoding(head)
    if encoding is not None:
        if info.size > _WHOLE_LIMIT:
            raise ToolError(f"{path} is too large to be decoded from {encoding} ({format_size(info.size)}).")
        text = (await environment.read_bytes(target)).decode(encoding, "replace").removeprefix("\ufeff")
        window.feed(text.encode("utf-8", "replace"))
    elif (kind := binary_kind(head)) is not None:
        return ToolResult.of_text(f"[{path} is not text: {kind}, {format_size(info.size)}. Use bash to look into it.]")
    else:
        position = 0
        while chunk := await environment.read_bytes(target, offset=position, limit=_CHUNK):
            window.feed(chunk)
            signal.throw_if_aborted()
            position += len(chunk)
            if len(chunk) < _CHUNK:
                break
    return window.result(path)


def _whole_number(value: float | None, default: int | None) -> int | None:
    if value is None or not math.isfinite(value):
        return default
    return max(1, int(value))


class _LineWindow(Struct):
    """The lines `first` to `first + limit - 1` of a file that comes in pieces: counted all, kept as far as shown."""

    first: int
    limit: int | None
    _kept: bytearray = field(default_factory=bytearray)
    _selected_bytes: int = 0
    _selected_feeds: int = 0  # LFs among the selected bytes
    _first_line_bytes: int = 0
    _ends_open: bool = False
    _feeds: int = 0  # LFs so far in the file

    def feed(self, chunk: bytes) -> None:
        feeds = chunk.count(b"\n")
        last = self.first + self.limit - 1 if self.limit is not None else None
        start = _after_feeds(chunk, self.first - 1 - self._feeds, feeds)
        end = len(chunk) if last is None else _after_feeds(chunk, last - self._feeds, feeds)
        self._feeds += feeds
        self._select(chunk[start:end])

    def _select(self, part: bytes) -> None:
        if not part:
            return
        if self._selected_feeds == 0:
            found = part.find(b"\n")
            self._first_line_bytes += len(part) if found < 0 else found
        self._selected_bytes += len(part)
        self._selected_feeds += part.count(b"\n")
        self._ends_open = not part.endswith(b"\n")
        room = MAX_BYTES + 2 - len(self._kept)  # enough to see why truncation stopped
        if room > 0:
            self._kept += part[:room]

    def result(self, path: str) -> ToolResult:
        total = self._feeds + 1
        if self.first > total:
            raise ToolError(f"Offset {self.first} is beyond end of file ({total} lines total)")
        rest = total - self.first + 1
        more = rest - self.limit if self.limit is not None and self.limit < rest else 0
        kept, size, lines = bytes(self._kept), self._selected_bytes, self._selected_feeds + self._ends_open
        if more:  # the LF behind the last selected line does not belong to the selection
            size -= 1
            kept = kept[:size]
        cut = truncate_head(kept.decode("utf-8", "replace"))
        if size > len(kept):
            cut = with_totals(cut, lines, size)
        text = cut.content
        if cut.first_line_exceeds_limit:
            text = (
                f"[Line {self.first} is {format_size(self._first_line_bytes)}, exceeds {format_size(MAX_BYTES)} limit. "
                f"Use bash: sed -n '{self.first}p' {path} | head -c {MAX_BYTES}]"
            )
        elif cut.truncated:
            end = self.first + cut.output_lines - 1
            why = f" ({format_size(MAX_BYTES)} limit)" if cut.truncated_by == "bytes" else ""
            text += f"\n\n[Showing lines {self.first}-{end} of {total}{why}. Use offset={end + 1} to continue.]"
        elif more:
            text += f"\n\n[{more} more lines in file. Use offset={total - more + 1} to continue.]"
        details = {"truncation": cut.to_json()} if cut.truncated else None
        return ToolResult([TextContent(text)], details, structured_content=text)


def _after_feeds(chunk: bytes, count: int, feeds: int) -> int:
    """Return the position behind the `count`-th LF of `chunk`, or its end if it has fewer: it has `feeds`."""
    if count <= 0:
        return 0
    if count > feeds:
        return len(chunk)
    position = 0
    for _ in range(count):
        position = chunk.index(b"\n", position) + 1
    return position
