"""Reading the terminal: our own key decoder behind the toolkit's drivers.

The toolkit's parser takes a terminal's replies for typed text and does not know modifyOtherKeys; here every byte goes
through `piolet.tui.keys`. This module alone touches the insides of the drivers.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from textual import events, messages
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.message import Message

from piolet.tui.keys import Key, KeyDecoder, Paste, TerminalInput
from piolet.tui.program_status import CLEAR_STATUS
from piolet.tui.widgets.key_events import KeyEvent

if TYPE_CHECKING:
    from textual.app import App

ESCAPE_SECONDS = 0.05  # after a lone ESC, until it is the Escape key
PASTE_SECONDS = 5.0  # without a byte, until a paste counts as ended
_POLL_SECONDS = 0.1
_CHUNK = 65536
# modifyOtherKeys; the window's title is kept and brought back, the mark of progress taken away.
_BEGIN, _END = "\x1b[22;0t\x1b[>4;2m", "\x1b[>4;0m\x1b]9;4;0;0\x1b\\\x1b[23;0t"
# Everything that may have been switched on, for an end that cannot wait for the driver.
_OFF = (
    "\x1b[?2026l\x1b[?2004l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2048l\x1b[?7h\x1b[<u"
    + _END
    + "\x1b[?1049l\x1b[?25h\x1b[0m"
)

_mouse = re.compile(r"\x1b\[<-?\d+;-?\d+;-?\d+[Mm]\Z")
_mode = re.compile(r"\x1b\[\?(\d+);(\d)\$y\Z")
_resized = re.compile(r"\x1b\[48;(\d+)(?::\d+)*;(\d+)(?::\d+)*;(\d+)(?::\d+)*;(\d+)(?::\d+)*t\Z")


class TerminalReport(Message):
    """The terminal said something that is no key, no mouse and no focus: a colour, an attribute, a graphics reply."""

    def __init__(self, sequence: str) -> None:
        super().__init__()
        self.sequence = sequence


class TerminalGone(Message):
    """The terminal was closed. Nothing can be written to it any more, not even what a normal exit flushes."""


class TerminalDriver(LinuxDriver):
    """The full-screen driver with our decoder. It draws on the app's `terminal`, if that names another file than
    standard error."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        screen: TextIO = getattr(app, "terminal", None) or sys.__stderr__ or sys.stderr
        self._file = _Lasting(screen)  # type: ignore[assignment]
        self._screen_fd = screen.fileno()
        self._active = self._started = False
        self._status = ""  # as it was last told

    def _get_terminal_size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(self._screen_fd)
        except (OSError, ValueError):
            return 80, 24
        return size.columns or 80, size.lines or 24

    @property
    def cell(self) -> tuple[int, int] | None:
        """Width and height in pixels of a cell; None if the terminal does not tell the system."""
        try:
            size = fcntl.ioctl(self._screen_fd, termios.TIOCGWINSZ, bytes(8))
        except OSError:
            return None
        rows, columns, width, height = struct.unpack("HHHH", size)
        return (width // columns, height // rows) if 0 < columns <= width and 0 < rows <= height else None

    def start_application_mode(self) -> None:
        again, self._active = self._started, True
        self._started = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # The toolkit's handler reads the size at once: interrupted by the next signal, it would tell an old size last.
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGWINCH, lambda *_: loop.call_soon_threadsafe(self.on_resized))
        self.write(_BEGIN + self._status)
        if again:
            loop.call_soon(self.on_resized)

    def on_resized(self) -> None:
        """Tell the app the size of the terminal. All is drawn again: the terminal may have been smaller meanwhile."""
        size = Size(*self._get_terminal_size())
        self._app.post_message(events.Resize(size, size))
        self._app.refresh(layout=True)

    def tell_status(self, report: str) -> None:
        """Tell what the program does, whenever the terminal is ours."""
        self._status = report
        if self._active:
            self.write(report)

    def stop_application_mode(self) -> None:
        self.write(_END + self._no_status)
        super().stop_application_mode()
        self._active = False

    def restore_now(self) -> None:
        """Give the terminal back at once, without the driver's threads: the process is about to end."""
        if not self._active:
            return
        with suppress(OSError):
            os.write(self._screen_fd, (_OFF + self._no_status).encode())
        if self.attrs_before is not None:
            with suppress(OSError, termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    @property
    def _no_status(self) -> str:
        return CLEAR_STATUS if self._status else ""

    def run_input_thread(self) -> None:
        """Read until the driver stops, or the terminal is gone."""
        decoder, mouse, heard = KeyDecoder(), XTermParser(), 0.0
        while not self.exit_event.is_set():
            wait = ESCAPE_SECONDS if decoder.pending else _POLL_SECONDS
            if select.select([self.fileno], [], [], wait)[0]:
                try:
                    data = os.read(self.fileno, _CHUNK)
                except OSError:
                    data = b""
                if not data:
                    self.send_message(TerminalGone())
                    return
                heard = time.monotonic()
                items = decoder.feed(data)
            elif time.monotonic() - heard < PASTE_SECONDS:
                items = decoder.flush()
            else:
                items = decoder.end_paste()
            for item in items:
                if (message := to_message(item, mouse)) is not None:
                    self.process_message(message)


class _Lasting:
    """A file whose writer is not disturbed when the terminal behind it is gone: who reads it will tell."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.fileno = file.fileno

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()


def to_message(item: TerminalInput, mouse: XTermParser) -> Message | None:
    """Return the toolkit's message for what the decoder has read; `mouse` keeps where the pointer was."""
    if isinstance(item, Key):
        return KeyEvent(item)
    if isinstance(item, Paste):
        return events.Paste(item.text)
    sequence = item.sequence
    if sequence in ("\x1b[I", "\x1b[O"):
        return events.AppFocus() if sequence == "\x1b[I" else events.AppBlur()
    if _mouse.match(sequence):
        return mouse.parse_mouse_code(sequence)
    if match := _mode.match(sequence):
        if match[1] == "2026" and match[2] in "123":
            return messages.TerminalSupportsSynchronizedOutput()
        return None  # in-band resize reports would bring pixels for the mouse; SIGWINCH is enough
    if match := _resized.match(sequence):
        height, width, pixel_height, pixel_width = map(int, match.groups())
        return events.Resize(Size(width, height), Size(width, height), None, Size(pixel_width, pixel_height))
    return TerminalReport(sequence)
