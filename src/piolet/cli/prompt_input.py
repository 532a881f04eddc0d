"""The first prompt: piped standard input, then @files, then the first message, with nothing between them.

Source: the command line specification, section 3.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from piolet.app.prompt import UserPrompt
from piolet.base.paths import resolve_path
from piolet.harness.tools.options import ImageSettings
from piolet.llm.messages import ImageContent
from piolet.modes.say import say

#: Seconds after which a silent pipe is mentioned.
SILENCE = 3.0
#: Bytes of standard input, or of one file, that no model could take any more.
MOST_BYTES = 100 * 1024 * 1024


class InputFile(Struct, frozen=True):
    """A file that goes into the first prompt."""

    path: Path
    data: bytes


class InputError(Exception):
    """Something that cannot be given to the model; the text names it."""


def read_piped_stdin() -> str | None:
    """Return what is piped in, trimmed, read to its end; None if nothing is, or standard input is a terminal.

    An interrupt ends the reading. Raises `InputError`.
    """
    if sys.stdin.isatty():
        return None
    with _interruptible():
        try:
            data = _read_all(sys.stdin.fileno(), "standard input")
        except OSError as error:
            raise InputError(f"Could not read standard input: {error.strerror}") from None
    return _decoded(data).strip() or None


def read_files(names: Sequence[str], cwd: Path) -> list[InputFile]:
    """Read the files of ``@name`` arguments. Raises `InputError`."""
    return [_read_file(name, cwd) for name in names]


def initial_prompts(
    stdin: str | None, files: Sequence[InputFile], messages: Sequence[str], settings: ImageSettings
) -> list[UserPrompt]:
    """Return the prompts to send, one run each. Blank ones are none: no model takes them."""
    texts, images = [stdin or ""], list[ImageContent]()
    for file in files:
        text, image = _as_text(file, settings)
        texts.append(text)
        if image is not None:
            images.append(image)
    texts += messages[:1]
    first = _readable("".join(texts))
    prompts = [UserPrompt(first, images), *(UserPrompt(_readable(message)) for message in messages[1:])]
    return [prompt for prompt in prompts if prompt.text.strip() or prompt.images]


def _read_file(name: str, cwd: Path) -> InputFile:
    try:
        path = resolve_path(name, str(cwd))
    except ValueError as error:
        raise InputError(f"Could not read file: {error}") from None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return InputFile(Path(path), _read_all(descriptor, path))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise InputError(f"File not found: {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Could not read file {path}: {getattr(error, 'strerror', None) or error}") from None


def _read_all(descriptor: int, name: str) -> bytes:
    """Read to the end, however long that takes. Raises OSError, and `InputError` for what has no end."""
    if not select.select([descriptor], [], [], SILENCE)[0]:
        say(f"Waiting for {name} to end (it is a pipe and silent so far)...")
    data = bytearray()
    while len(data) <= MOST_BYTES:
        select.select([descriptor], [], [])
        with suppress(BlockingIOError):
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                return bytes(data)
            data += chunk
    raise InputError(f"{name} is too large for a prompt (more than {MOST_BYTES >> 20} MB)")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let an interrupt end what blocks here: of an event loop's own handler it would only be noted."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _readable(text: str) -> str:
    """Return `text` with U+FFFD for bytes of the command line or of a file name that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decoded(data: bytes) -> str:
    from piolet.harness.tools.content import wide_encoding

    return data.decode(wide_encoding(data) or "utf-8", "replace").removeprefix("\ufeff")


def _as_text(file: InputFile, settings: ImageSettings) -> tuple[str, ImageContent | None]:
    from piolet.harness.tools.content import SNIFF_BYTES, binary_kind, image_type, wide_encoding
    from piolet.harness.tools.images import deliver

    if not file.data:
        return "", None
    if (mime_type := image_type(file.data)) is not None:
        delivery = deliver(file.data, mime_type, settings)
        hints = "\n".join(delivery.note.splitlines()[1:])
        return f'<file name="{file.path}">{hints}</file>\n', delivery.image
    head = file.data[:SNIFF_BYTES]
    if wide_encoding(head) is None and (kind := binary_kind(head)) is not None:
        return f'<file name="{file.path}">[This is not text: {kind}. Use bash to look into it.]</file>\n', None
    return f'<file name="{file.path}">\n{_decoded(file.data)}\n</file>\n', None
