"""Where extensions come from, in the order in which they are loaded (the extension specification, section 2)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from piolet.app.commands import SourceInfo
from piolet.app.packages.distributions import EXTENSIONS, entry_points
from piolet.app.packages.imports import ImportFolder, own_folders
from piolet.app.packages.sources import is_package
from piolet.app.resources.resolve import ENTRY_POINT, Resolution, Resource, is_entry_point, strings
from piolet.app.resources.scan import FOREIGN_SUFFIXES, scan_extensions
from piolet.base.paths import resolve_path

if TYPE_CHECKING:
    from piolet.app.extensions.definitions import ExtensionFactory
    from piolet.app.options import RuntimeOptions
    from piolet.app.settings import Settings

#: Extensions that come along with the program: name to ``module:function``.
BUILT_IN: Final[Mapping[str, str]] = {}


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
    modules: list[ImportFolder] = []


def extension_sources(
    options: RuntimeOptions, settings: Settings, resolution: Resolution, named: Resolution | None = None
) -> Found:
    """Return the extensions of the command line, the project, the user, packages, distributions, built in, given.

    `resolution`: what was found in folders and settings, without the project's unless it is trusted. `named`: what the
    packages hold that the command line names.
    """
    found = Found()
    off = {entry for scope in (settings.user, settings.project) for entry in strings(scope.get("extensions"))}
    sources = [*_named(options, named or Resolution(), found)]
    if options.extensions.discover:
        foreign = [(path, "TypeScript extension, not loaded") for path in resolution.foreign]
        found.problems += [problem for problem in foreign if problem not in found.problems]
        sources += _resolved(resolution)
        found.modules += resolution.modules
        sources += _distributions(off)
        sources += (_built_in(name) for name in BUILT_IN if f"-builtin:{name}" not in off)
    for number, factory in enumerate(options.extension_factories, 1):
        path = f"<inline:{number}>"
        sources.append(ExtensionSource(path, path, _temporary(path), factory=factory, waits=True))
    found.sources = list({source.key: source for source in reversed(sources)}.values())[::-1]
    return found


def _named(options: RuntimeOptions, named: Resolution, found: Found) -> Iterator[ExtensionSource]:
    """The extensions that ``--extension`` names: files, folders, packages, built-in ones."""
    found.modules += named.modules
    for text in options.extensions.paths:
        name = text.removeprefix("builtin:")
        if name != text:
            if name in BUILT_IN:
                yield _built_in(name)
            else:
                found.problems.append((text, f"there is no built-in extension {name!r}"))
            continue
        if is_package(text):
            packaged = [one for one in named.resources["extensions"] if one.source == text]
            if not packaged and text not in [missing.source for missing in named.missing]:
                found.problems.append((text, "the package has no extension"))
            yield from (_source(one, _temporary(text)) for one in packaged)
        else:
            files = _files(text, options, found)
            yield from (ExtensionSource(path, os.path.realpath(path), _temporary(path)) for path in files)


def _files(text: str, options: RuntimeOptions, found: Found) -> Iterator[str]:
    try:
        root = Path(resolve_path(text, str(options.cwd), home=str(options.home)))
    except ValueError as error:
        found.problems.append((text, str(error)))
        return
    if not root.exists():
        found.problems.append((text, f"{root} does not exist"))
    elif root.is_file() and root.suffix in FOREIGN_SUFFIXES:
        found.problems.append((str(root), "TypeScript extension, not loaded"))
    elif root.is_file():
        yield str(root)
    else:
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
            yield _source(one, SourceInfo(one.path, one.source, one.scope, one.origin, one.base))


def _source(one: Resource, info: SourceInfo) -> ExtensionSource:
    if not is_entry_point(one.path):
        return ExtensionSource(one.path, one.real, info)
    name = os.path.basename(one.path).removeprefix(ENTRY_POINT)
    value = next(point.value for point in entry_points([one.base], EXTENSIONS) if point.name == name)
    path = f"{ENTRY_POINT}{name}"
    return ExtensionSource(path, path, info, entry_point=value)


def _built_in(name: str) -> ExtensionSource:
    path = f"builtin:{name}"
    return ExtensionSource(path, path, _temporary(path), entry_point=BUILT_IN[name], waits=True)


def _temporary(path: str) -> SourceInfo:
    return SourceInfo(path, "local", "temporary", "top-level")


def _distributions(off: set[str]) -> Iterator[ExtensionSource]:
    for point in entry_points(own_folders(), EXTENSIONS):
        path = f"{ENTRY_POINT}{point.name}"
        if f"-{path}" not in off:
            yield ExtensionSource(path, path, SourceInfo(path, path, "user", "package"), entry_point=point.value)
