"""Where extensions come from, in the order in which they are loaded (the extension specification, section 2)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from piolet.app.commands import SourceInfo
from piolet.app.packages.sources import LocalSource, PackageError, PypiSource, installed_path, parse_source
from piolet.app.resources.resolve import Resolution, strings
from piolet.app.resources.scan import FOREIGN_SUFFIXES, scan_extensions
from piolet.base.paths import resolve_path

if TYPE_CHECKING:
    from piolet.app.extensions.definitions import ExtensionFactory
    from piolet.app.options import RuntimeOptions
    from piolet.app.settings import Settings

#: Extensions that come along with the program: name to ``module:function``.
BUILT_IN: Final[Mapping[str, str]] = {}
ENTRY_POINTS: Final = "pi.extensions"


class ExtensionSource(Struct, frozen=True):
    """One extension to load. `path` is what it is called by in reports; `key` is the same for the same real file.

    `entry_point`: ``module:function`` of an installed module. `factory`: the function itself. `waits`: it is loaded
    after the decision about the project only.
    """

    path: str
    key: str
    info: SourceInfo
    entry_point: str | None = None
    factory: ExtensionFactory | None = None
    waits: bool = False


class Found(Struct):
    """`sources` in order, each real file once. `problems`: path and text of what cannot be loaded."""

    sources: list[ExtensionSource] = []
    problems: list[tuple[str, str]] = []


def extension_sources(options: RuntimeOptions, settings: Settings, resolution: Resolution) -> Found:
    """Return the extensions of the command line, the project, the user, packages, distributions, built in, given.

    `resolution`: what was found in folders and settings, without the project's unless it is trusted.
    """
    found = Found()
    off = {entry for scope in (settings.user, settings.project) for entry in strings(scope.get("extensions"))}
    sources = [*_named(options, found)]
    if options.extensions.discover:
        foreign = [(path, "TypeScript extension, not loaded") for path in resolution.foreign]
        found.problems += [problem for problem in foreign if problem not in found.problems]
        sources += _resolved(resolution)
        sources += _distributions(off)
        sources += (_built_in(name) for name in BUILT_IN if f"-builtin:{name}" not in off)
    for number, factory in enumerate(options.extension_factories, 1):
        path = f"<inline:{number}>"
        sources.append(ExtensionSource(path, path, _temporary(path), factory=factory, waits=True))
    found.sources = list({source.key: source for source in reversed(sources)}.values())[::-1]
    return found


def _named(options: RuntimeOptions, found: Found) -> Iterator[ExtensionSource]:
    """The extensions that ``--extension`` names: files, folders, packages that are installed, built-in ones."""
    for text in options.extensions.paths:
        name = text.removeprefix("builtin:")
        if name != text:
            if name in BUILT_IN:
                yield _built_in(name)
            else:
                found.problems.append((text, f"there is no built-in extension {name!r}"))
            continue
        files = list(_files(text, options, found))
        yield from (_file(path, _temporary(path)) for path in files)


def _files(text: str, options: RuntimeOptions, found: Found) -> Iterator[str]:
    try:
        source = parse_source(text)
        if isinstance(source, LocalSource):
            root = Path(resolve_path(source.path, str(options.cwd), home=str(options.home)))
        else:
            root = installed_path(source, options.agent_dir, options.home)
    except (PackageError, ValueError) as error:
        found.problems.append((text, str(error)))
        return
    if not root.exists():
        how = "" if isinstance(source, LocalSource) else f"; install it with: piolet install {text}"
        found.problems.append((text, f"{root} does not exist{how}"))
    elif root.is_file() and root.suffix in FOREIGN_SUFFIXES:
        found.problems.append((str(root), "TypeScript extension, not loaded"))
    elif root.is_file():
        yield str(root)
    else:
        from piolet.app.packages.manifest import package_root

        root = package_root(source, root) if isinstance(source, PypiSource) else root
        scan = scan_extensions(str(root))
        if not scan.files and (root / "extensions").is_dir():
            scan = scan_extensions(str(root / "extensions"))
        found.problems += [(path, "TypeScript extension, not loaded") for path in scan.foreign]
        found.problems += [(text, problem) for problem in scan.problems]
        if not scan.files and not scan.foreign:
            found.problems.append((text, f"there is no extension in {root}"))
        yield from scan.files


def _resolved(resolution: Resolution) -> Iterator[ExtensionSource]:
    for one in resolution.resources["extensions"]:
        if one.enabled:
            yield _file(one.path, SourceInfo(one.path, one.source, one.scope, one.origin, one.base))


def _file(path: str, info: SourceInfo) -> ExtensionSource:
    return ExtensionSource(path, os.path.realpath(path), info)


def _built_in(name: str) -> ExtensionSource:
    path = f"builtin:{name}"
    return ExtensionSource(path, path, _temporary(path), entry_point=BUILT_IN[name], waits=True)


def _temporary(path: str) -> SourceInfo:
    return SourceInfo(path, "local", "temporary", "top-level")


def _distributions(off: set[str]) -> Iterator[ExtensionSource]:
    for name, value in entry_points(sys.path):
        path = f"dist:{name}"
        if f"-{path}" not in off:
            yield ExtensionSource(path, path, SourceInfo(path, path, "user", "package"), entry_point=value)


def entry_points(folders: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and ``module:function`` of the entry points for extensions that installed distributions declare.

    Reads only the one file of each distribution: `importlib.metadata` would cost start-up more than all the rest.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(name for name in os.listdir(folder or ".") if name.endswith(".dist-info"))
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    data = file.read()
            except OSError:
                continue
            if f"[{ENTRY_POINTS}]".encode() in data:
                for key, value in _section(data.decode("utf-8", "replace")):
                    found.setdefault(key, value)
    return list(found.items())


def _section(text: str) -> Iterator[tuple[str, str]]:
    section = re.search(rf"^\[{re.escape(ENTRY_POINTS)}\][ \t]*$(.*?)(?=^\[|\Z)", text, re.DOTALL | re.MULTILINE)
    for line in section[1].splitlines() if section else ():
        name, equals, value = line.partition("=")
        if equals and not name.lstrip().startswith(("#", ";")):
            yield name.strip(), value.strip()
