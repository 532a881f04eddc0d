"""The card of one tool call in the transcript, from its first argument to its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from piolet.agent.tools import ToolResult
from piolet.app.renderers.registry import BUILT_IN, tool_lines
from piolet.app.renderers.view import ToolRenderer, ToolView
from piolet.llm.arguments import PartialArguments
from piolet.llm.messages import text_of
from piolet.tui.blocks.frame import Frame
from piolet.tui.pictures import Picture
from piolet.tui.spans import Line

RendererError: TypeAlias = Callable[[str, Exception], None]
PicturesOf: TypeAlias = Callable[[Sequence[object], Sequence[Picture]], Sequence[Picture]]


class ToolBlock:
    """A call that arrives, runs and ends. After each change the transcript must be told."""

    is_prompt = False

    def __init__(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        pictures: PicturesOf,
        cwd: str = "",
        home: str = "",
        renderers: Mapping[str, ToolRenderer] = BUILT_IN,
        on_error: RendererError | None = None,
    ) -> None:
        """Without `args` they are still arriving, piece by piece. `pictures(content, known)`: those of a result, of
        which some may be known."""
        self.running = False
        self._args = args
        self._pieces = PartialArguments()
        self._started = 0.0
        self._view = ToolView(name, complete=args is not None, state="arguments", cwd=cwd, home=home)
        self._renderers = renderers
        self._pictures_of = pictures
        self._on_error = on_error

    @property
    def source(self) -> str:
        return f"{self._view.name}\n{self._view.text[:2000]}"

    @property
    def done(self) -> bool:
        return self._view.state == "done"

    @property
    def pictures(self) -> Sequence[Picture]:
        return self._view.pictures

    def feed(self, piece: str) -> None:
        """Take a piece of the arguments' JSON text."""
        self._pieces.feed(piece)

    @property
    def tells_time(self) -> bool:
        """Whether the card changes while nothing happens."""
        return self.running and self._view.name == "bash"

    def complete(self, name: str, args: Mapping[str, Any]) -> None:
        """The tool and the arguments are known."""
        self._args = args
        self._change(name=name, complete=True)

    def start(self, args: Mapping[str, Any]) -> None:
        """The tool runs."""
        self._args = args
        self._started = time.monotonic()
        self.running = True
        self._change(complete=True, state="running")

    def preview(self, diff: str) -> None:
        """An edit will make these changes."""
        self._change(preview=diff)

    def update(self, partial: ToolResult) -> None:
        """The tool reports what there is so far."""
        self._change(
            text=text_of(partial.content, "\n"),
            details=partial.details,
            pictures=self._pictures_of(partial.content, self.pictures),
        )

    def finish(
        self, content: Sequence[object], details: Any, *, is_error: bool, duration_ms: int | None = None
    ) -> None:
        """The tool has ended, or never ran."""
        self.running = False
        self._change(
            complete=True,
            state="done",
            text=text_of(content if isinstance(content, str) else list(content), "\n"),
            details=details,
            is_error=is_error,
            pictures=self._pictures_of(content, self.pictures),
            seconds=None if duration_ms is None else duration_ms / 1000,
        )

    def lines(self, frame: Frame) -> Sequence[Line]:
        args = self._pieces.value if self._args is None else self._args
        view = replace(self._view, args=args)
        if self.running and frame.animated:
            view = replace(view, seconds=time.monotonic() - self._started)
        return tool_lines(view, frame, self._renderers, self._on_error)

    def _change(self, **fields: Any) -> None:
        self._view = replace(self._view, **fields)
