"""Blocks for a transcript: ones that are drawn from values, and text that is still arriving."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from piolet.tui.blocks.frame import Frame, inset, markdown
from piolet.tui.markdown import render
from piolet.tui.markdown_stream import Above, MarkdownStream
from piolet.tui.pictures import Picture
from piolet.tui.spans import BLANK, PLAIN, Line, Style
from piolet.tui.text import safe_for_terminal


class DrawnBlock:
    """Draws what `draw` returns for a frame; `source` is the text it shows, roughly, and `pictures` what is in it."""

    def __init__(
        self,
        draw: Callable[[Frame], Sequence[Line]],
        source: str = "",
        *,
        is_prompt: bool = False,
        pictures: Sequence[Picture] = (),
    ) -> None:
        self.draw = draw
        self.source = source
        self.is_prompt = is_prompt
        self.pictures = pictures

    def lines(self, frame: Frame) -> Sequence[Line]:
        return self.draw(frame)


class GrowingMarkdown:
    """Markdown that arrives in pieces, drawn over a base style; after `finish` it is drawn as one text.

    `lines` is the whole. Where finished lines go to a place from which nothing comes back, `settle` gives them out
    once, and `rest` is what is behind them. `transform(text, growing)` gives what is drawn in place of the text.
    """

    is_prompt = False

    def __init__(self, base: Style = PLAIN, transform: Callable[[str, bool], str] | None = None) -> None:
        self._base = base
        self._transform = transform
        self._pieces: list[str] = []
        self._whole = _Drawn()
        self._tail = _Drawn()
        self.finished = False

    @property
    def source(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def append(self, text: str) -> None:
        """Add a piece."""
        text = safe_for_terminal(text)
        if not self._pieces:
            text = text.lstrip("\n")
        self._pieces.append(text)
        self._whole.append(text)
        self._tail.append(text)

    def finish(self, text: str | None = None) -> None:
        """Nothing more arrives; `text` is the whole, if it is known better."""
        if text is not None:
            self._pieces = [safe_for_terminal(text).lstrip("\n")]
        self.finished = True
        self._whole.stream = self._tail.stream = None

    def lines(self, frame: Frame) -> Sequence[Line]:
        return self._lines(self._whole, frame)

    def rest(self, frame: Frame) -> Sequence[Line]:
        """Return the lines behind what was settled."""
        return self._lines(self._tail, frame)

    def settle(self, frame: Frame) -> Sequence[Line]:
        """Return the lines that will not change any more, and leave them out of `rest` from now on."""
        if self.finished or self._transform is not None:  # of what is transformed nothing is final before the end
            return ()
        if frame.mermaid == "final" and "mermaid" in self.source:  # the drawings are still to come
            return ()
        stream = self._tail.drawn_in(frame, self._base, self.source)
        stream.lines()
        lines, size = stream.settle()
        self._tail.start, self._tail.above = self._tail.start + (size if lines else 0), stream.above
        return inset(lines, frame)

    @property
    def settled(self) -> bool:
        """Whether lines were given out."""
        return self._tail.start > 0

    def _lines(self, drawn: _Drawn, frame: Frame) -> Sequence[Line]:
        if self._transform is not None:
            text = self._transform(self.source, not self.finished).strip("\n")
            return inset(markdown(text, frame.text_width, frame, self._base), frame)
        if not self.finished:
            return inset(drawn.drawn_in(frame, self._base, self.source).lines(), frame)
        if drawn.above is None:
            return inset(markdown(self.source.strip("\n"), frame.text_width, frame, self._base), frame)
        gap, number, env = drawn.above
        text, look = self.source[drawn.start :].strip("\n"), frame.look(self._base)
        lines = render(text, frame.text_width, look, env=env, first_number=number)
        return inset([BLANK, *lines] if lines and gap else lines, frame)


class _Drawn:
    """How a text that grows is drawn from the character `start` on, below what is `above`."""

    def __init__(self) -> None:
        self.start = 0
        self.above: Above | None = None
        self.stream: MarkdownStream | None = None
        self._frame: Frame | None = None

    def append(self, text: str) -> None:
        if self.stream is not None:
            self.stream.append(text)

    def drawn_in(self, frame: Frame, base: Style, source: str) -> MarkdownStream:
        """Return the stream for a frame; a new one takes in `source`, which is all that has arrived."""
        if self.stream is None or frame != self._frame:
            self.stream, self._frame = MarkdownStream(frame.text_width, frame.look(base), above=self.above), frame
            self.stream.append(source[self.start :])
        return self.stream
