"""Small JSON files that people edit and several programs share: read strictly, written whole and indented."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from piolet.base.dirlock import wait_for_writer
from piolet.base.files import make_private_folder, replace_file, write_private


def read_text(path: Path) -> str | None:
    """Return the text of a regular file without a byte order mark, None if it is not there. OSError, ValueError."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is no regular file")
            return file.read().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 (byte {error.start + 1})") from None


def parse_object(text: str) -> dict[str, Any]:
    """Return the object that `text` holds. ValueError says why there is none. No comments, no NaN."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:]
        raise ValueError(f"it is no valid JSON (line {error.lineno}, column {error.colno}: {what})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it holds no JSON object")
    return value


def read_object(path: Path, *, locked: bool = False) -> dict[str, Any]:
    """Return the object in a file, an empty one without file or content. OSError, ValueError.

    Unless the file's lock is `locked` by us, other programs may be writing it just now: it is read when they are done.
    """
    try:
        text = read_text(path)
        if text or text is None or locked:
            return parse_object(text) if text else {}
    except ValueError:
        if locked:
            raise
    wait_for_writer(path)
    return read_object(path, locked=True)


def reason(error: Exception) -> str:
    """Return why a file could not be read or written, without its name."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def unusable(path: Path, error: Exception) -> str:
    """Return what to tell of a file that could not be read: why, and what to do."""
    return f"{path} cannot be used: {reason(error)}. Repair it, or move it away"


def indented(value: Any) -> str:
    """Return `value` as JSON text, indented by two."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def write_text(path: Path, text: str, *, private: bool) -> None:
    """Replace the file's content by JSON `text`. `private`: only the user may read it; else an existing mode stays."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can hold
        data = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text).encode()
    if private:
        write_private(path, data)
    else:
        replace_file(path, data)


def make_folder_for(path: Path, *, private: bool) -> None:
    """Make the folder that `path` stands in, so that its lock can be taken."""
    if private:
        make_private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
