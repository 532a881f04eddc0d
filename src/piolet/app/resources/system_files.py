"""The texts that replace or follow the built-in system prompt: flags, ``SYSTEM.md``, ``APPEND_SYSTEM.md``.

Source of the rules: the resources specification, section 2.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct


class SystemTexts(Struct, frozen=True):
    """`prompt` replaces the built-in text (empty counts as none); `append` follows it."""

    prompt: str | None = None
    append: Sequence[str] = ()


def system_texts(
    cwd: Path, agent_dir: Path, *, trusted: bool, prompt: str | None = None, append: Sequence[str] | None = None
) -> SystemTexts:
    """Return the texts for `cwd`. `prompt` and `append` are the flags' values: text, or the name of a file.

    A flag switches the files of its kind off, even an empty `append`.
    """
    folders = [cwd / ".pi", agent_dir] if trusted else [agent_dir]
    if prompt is None:
        prompt = _first([folder / "SYSTEM.md" for folder in folders])
    else:
        prompt = text_or_file(prompt, cwd)
    if append is None:
        found = _first([folder / "APPEND_SYSTEM.md" for folder in folders])
        return SystemTexts(prompt, [] if found is None else [found])
    return SystemTexts(prompt, [text_or_file(value, cwd) for value in append])


def text_or_file(value: str, cwd: Path) -> str:
    """Return the text of the file that `value` names, or `value` itself if there is no such file."""
    try:
        found = _read(cwd / os.path.expanduser(value))
    except ValueError:  # no name that a file can have
        return value
    return value if found is None else found


def _first(paths: Sequence[Path]) -> str | None:
    texts = (_read(path) for path in paths)
    return next((text for text in texts if text is not None), None)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode(errors="replace") if path.is_file() else None
    except OSError:
        return None
