"""The first prompt: piped standard input, then @files, then the first message, with nothing between them.

Source: the command line specification, section 3.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from piolet.app.prompt import UserPrompt
from piolet.harness.tools.options import ImageSettings
from piolet.llm.messages import ImageContent

#: Seconds after which a silent pipe is mentioned.
SILENCE = 3.0


class InputFile(Struct, frozen=True):
    """A file that goes into the first prompt."""

    path: Path
    data: bytes


class InputError(Exception):
    """A file that cannot be given to the model; the text names it."""


def read_piped_stdin() -> str | None:
    """Return what is piped in, trimmed, read to its end; None if nothing is, or standard input is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    descriptor = sys.stdin.fileno()
    if not select.select([descriptor], [], [], SILENCE)[0]:
        print("Waiting for standard input to end (it is a pipe and silent so far)...", file=sys.stderr)
    chunks = []
    while chunk := os.read(descriptor, 1 << 16):
        chunks.append(chunk)
    return b"".join(chunks).decode("utf-8", "replace").removeprefix("\ufeff").strip() or None


def read_files(names: Sequence[str], cwd: Path) -> list[InputFile]:
    """Read the files of ``@name`` arguments. Raises `InputError`."""
    return [_read_file(Path(os.path.normpath(cwd / Path(name).expanduser()))) for name in names]


def initial_prompts(
    stdin: str | None, files: Sequence[InputFile], messages: Sequence[str], settings: ImageSettings
) -> list[UserPrompt]:
    """Return the prompts to send, one run each."""
    texts, images = [stdin or ""], list[ImageContent]()
    for file in files:
        text, image = _as_text(file, settings)
        texts.append(text)
        if image is not None:
            images.append(image)
    texts += messages[:1]
    first = "".join(texts)
    prompts = [UserPrompt(first, images)] if first or images else []
    return [*prompts, *(UserPrompt(message) for message in messages[1:])]


def _read_file(path: Path) -> InputFile:
    try:
        return InputFile(path, path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"File not found: {path}") from None
    except OSError as error:
        raise InputError(f"Could not read file {path}: {error.strerror}") from None


def _as_text(file: InputFile, settings: ImageSettings) -> tuple[str, ImageContent | None]:
    from piolet.harness.tools.content import image_type
    from piolet.harness.tools.images import deliver

    if not file.data:
        return "", None
    if (mime_type := image_type(file.data)) is not None:
        delivery = deliver(file.data, mime_type, settings)
        hints = "\n".join(delivery.note.splitlines()[1:])
        return f'<file name="{file.path}">{hints}</file>\n', delivery.image
    text = file.data.decode("utf-8", "replace").removeprefix("\ufeff")
    return f'<file name="{file.path}">\n{text}\n</file>\n', None
