"""From the path that a model wrote to the path that it means.

Source: the tools specification, section 1. What is written is taken literally first; only where nothing stands there,
the cleaned form is tried: without a leading ``@`` (a habit of mentioning files), with plain blanks for special ones.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from piolet.base.regex import compiled_later
from piolet.harness.environments.base import Environment
from piolet.harness.tools.errors import ToolError

_BLANKS: Final = compiled_later("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_SURROGATE: Final = compiled_later("[\ud800-\udfff]")
_DAY_HALF: Final = compiled_later(r" (?=[AaPp][Mm]\b)")


def well_formed(text: str) -> str:
    """Return `text` with U+FFFD for each lone surrogate, which no file system or pipe can take."""
    return _SURROGATE.sub("\ufffd", text)


async def existing_path(environment: Environment, path: str, *, tolerant: bool = False) -> str:
    """Return the absolute path that `path` means for something that should exist.

    `tolerant` also tries the names that macOS gives to files: U+202F before AM and PM, decomposed accents, U+2019.
    If nothing is found, the cleaned form is returned.
    """
    path = _url_path(_checked(path))
    literal = await environment.resolve(path)
    cleaned = await environment.resolve(_clean(path))
    candidates = [literal, cleaned]
    if tolerant:
        candidates += _macos_names(cleaned)
    for candidate in dict.fromkeys(candidates):
        if await _stands(environment, candidate):
            return candidate
    return cleaned


async def path_to_write(environment: Environment, path: str) -> str:
    """Return the absolute path that `path` means for a file that may not exist yet."""
    path = _url_path(_checked(path))
    literal = await environment.resolve(path)
    if await _stands(environment, literal):
        return literal
    folder, slash, name = path.rpartition("/")
    if slash and folder and await _stands(environment, await environment.resolve(folder), follow=True):
        return await environment.resolve(f"{folder}/{_BLANKS.sub(' ', name)}")
    return await environment.resolve(_clean(path))


async def _stands(environment: Environment, path: str, *, follow: bool = False) -> bool:
    """Return whether something is at `path`. Where that cannot be found out, yes: who uses the path learns why."""
    try:
        return await environment.stat(path, follow=follow) is not None
    except OSError:
        return True


def _checked(path: str) -> str:
    if "\0" in path:
        raise ToolError("A path cannot contain a NUL character.")
    return well_formed(path)


def _url_path(path: str) -> str:
    if not path.startswith("file://"):
        return path
    from urllib.parse import unquote

    host, slash, rest = path.removeprefix("file://").partition("/")
    if host not in ("", "localhost") or not slash:
        raise ToolError(f"A file URL must name a file of this machine (file:///path): {path}")
    return "/" + unquote(rest)


def _clean(path: str) -> str:
    return _BLANKS.sub(" ", path.removeprefix("@"))


def _macos_names(path: str) -> list[str]:
    decomposed = unicodedata.normalize("NFD", path)
    return [
        _DAY_HALF.sub("\u202f", path),
        decomposed,
        path.replace("'", "\u2019"),
        decomposed.replace("'", "\u2019"),
    ]
