"""Packages that are fetched at the start: those named for one run, and those of the settings that are not on disk.

What cannot be fetched is told and left out. Source of the rules: the resources specification, section 11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from piolet.app.options import RuntimeOptions
from piolet.app.packages.sources import PackageError, installed_path, is_package, parse_source
from piolet.app.resources.resolve import MissingPackage, Places
from piolet.app.settings import Settings
from piolet.app.settings_files import Scope
from piolet.base.urls import without_credentials


async def fetch_named(options: RuntimeOptions, settings: Settings) -> list[str]:
    """Fetch the packages that ``--extension`` names, anew if they are there; return what the user should know."""
    wanted = [text for text in options.extensions.paths if is_package(text)]
    places = _places(options).for_one_run
    notices = []
    for text in wanted:
        try:
            there = installed_path(parse_source(text), places.agent_dir, places.home).exists()
            if not options.offline:
                await _fetch(text, places, "user", options, settings)
            elif not there:
                notices.append(f"{without_credentials(text)} was never fetched, and piolet is offline")
        except PackageError as error:
            notices.append(str(error))
    return notices


async def fetch_missing(missing: Sequence[MissingPackage], options: RuntimeOptions, settings: Settings) -> list[str]:
    """Fetch packages of the settings that are not on disk; return what the user should know."""
    notices = []
    for package in missing:
        source = without_credentials(package.source)
        if package.problem:
            notices.append(f"Package {source}: {package.problem}")
        elif options.offline:
            notices.append(f"Package {source} is not installed, and piolet is offline")
        else:
            try:
                await _fetch(package.source, _places(options), package.scope, options, settings)
            except PackageError as error:
                notices.append(f"Package {source} is missing: {error}")
    return notices


async def _fetch(text: str, places: Places, scope: Scope, options: RuntimeOptions, settings: Settings) -> None:
    from piolet.app.packages.fetch import Fetcher

    fetcher = Fetcher(places.base(scope), places.home, pip=settings.pip_command, npm=settings.npm_command)
    with options.fetching(without_credentials(text)):
        await asyncio.to_thread(fetcher.fetch, parse_source(text))


def _places(options: RuntimeOptions) -> Places:
    return Places(options.cwd, options.agent_dir, options.home)
