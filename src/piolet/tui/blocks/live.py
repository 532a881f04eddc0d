"""Blocks for a transcript: ones that are drawn from values, and text that is still arriving."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from piolet.tui.blocks.frame import Frame, inset, markdown
from piolet.tui.markdown_stream import MarkdownStream
from piolet.tui.spans import PLAIN, Line, Style


class DrawnBlock:
    """Draws what `draw` returns for a frame; `source` is the text it shows, roughly."""

    def __init__(self, draw: Callable[[Frame], Sequence[Line]], source: str = "", *, is_prompt: bool = False) -> None:
        self.draw = draw
        self.source = source
        self.is_prompt = is_prompt

    def lines(self, frame: Frame) -> Sequence[Line]:
        return self.draw(frame)


class GrowingMarkdown:
    """Markdown that arrives in pieces, drawn over a base style; after `finish` it is drawn as one text."""

    is_prompt = False

    def __init__(self, base: Style = PLAIN) -> None:
        self._base = base
        self._pieces: list[str] = []
        self._stream: MarkdownStream | None = None
        self._frame: Frame | None = None
        self.finished = False

    @property
    def source(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def append(self, text: str) -> None:
        """Add a piece."""
        if not self._pieces:
            text = text.lstrip("\n")
        self._pieces.append(text)
        if self._stream is not None:
            self._stream.append(text)

    def finish(self, text: str | None = None) -> None:
        """Nothing more arrives; `text` is the whole, if it is known better."""
        if text is not None:
            self._pieces = [text]
        self.finished = True
        self._stream = self._frame = None

    def lines(self, frame: Frame) -> Sequence[Line]:
        if self.finished:
            return inset(markdown(self.source.strip(), frame.text_width, frame, self._base), frame)
        if self._stream is None or frame != self._frame:
            self._stream, self._frame = MarkdownStream(frame.text_width, frame.look(self._base)), frame
            self._stream.append(self.source)
        return inset(self._stream.lines(), frame)
