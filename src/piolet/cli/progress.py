"""How far something is that may take long: one line on a terminal, gone at the end; nothing where nobody watches."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self, TextIO, TypeVar

from piolet.modes.say import one_line

T = TypeVar("T")

_AGAIN = 0.1  # seconds between two drawings
_LONG = 2  # seconds after which the time is told too
_ERASE = "\r\x1b[K"


class Progress:
    """Shows `text` on standard error, with counts where `each` gives them. Print nothing while it is shown."""

    def __init__(self, text: str, stream: TextIO | None = None) -> None:
        self._text = one_line(text)
        self._stream = sys.stderr if stream is None else stream
        self._done = self._total = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty() and os.environ.get("TERM") not in (None, "", "dumb"):
            self._begun = time.monotonic()
            self._draw()
            self._thread = threading.Thread(target=self._keep_drawing, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._write(_ERASE)

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Give the items, and count them."""
        known: Sequence[T] = list(items)
        self._total = len(known)
        for self._done, item in enumerate(known, 1):
            yield item

    def _keep_drawing(self) -> None:
        while not self._ended.wait(_AGAIN):
            self._draw()

    def _draw(self) -> None:
        seconds = int(time.monotonic() - self._begun)
        counts = f" {self._done}/{self._total}" if self._total else ""
        took = f" ({seconds} s)" if seconds >= _LONG else ""
        width = shutil.get_terminal_size().columns - 1
        self._write(f"{_ERASE}{f'{self._text}...{counts}{took}'[:width]}")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal is gone: what is done goes on
            self._ended.set()
