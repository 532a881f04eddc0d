"""``ExtensionHost``: the extensions of a runtime over all its sessions: their modules, the values of their flags."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from piolet.app.extensions.definitions import FlagValue
from piolet.app.extensions.errors import LoadFailed
from piolet.app.extensions.runner import ExtensionRunner
from piolet.app.packages.imports import make_importable

if TYPE_CHECKING:
    from pathlib import Path

    from piolet.app.extensions.loader import Loader
    from piolet.app.extensions.sources import ExtensionSource, Found
    from piolet.app.resources.resolve import Resolution
    from piolet.app.runtime import Runtime
    from piolet.app.services import Services
    from piolet.app.settings import Settings
    from piolet.harness.environments.base import Environment


class ExtensionHost:
    """Loads the extensions for each session of `runtime`: modules run once, ``extension(pi)`` is called anew."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._loader: Loader | None = None
        self._begun: ExtensionRunner | None = None
        #: Values of flags, by name.
        self.flags: dict[str, FlagValue] = {}

    @asynccontextmanager
    async def asking(self, cwd: Path, settings: Settings, environment: Environment) -> AsyncIterator[None]:
        """Load what may be loaded before the project in `cwd` is trusted, and let it answer ``project_trust``."""
        from piolet.app.resources.loader import find_resources

        options = self._runtime.options
        resolution, named = find_resources(replace(options, cwd=cwd), settings, trusted=False)
        runner = self._begun = ExtensionRunner(self._runtime, environment, self.flags)
        found = self._find(cwd, settings, resolution, named)
        make_importable(found.modules)
        await self._load(runner, [source for source in found.sources if not source.waits])
        with runner.answering_trust():
            yield

    async def load(self, services: Services) -> ExtensionRunner:
        """Return the extensions for a session with `services`, loaded and with their handlers registered."""
        runner, self._begun = self._begun, None
        if runner is None:
            runner = ExtensionRunner(self._runtime, services.environment, self.flags)
        resources = services.resources
        found = self._find(services.cwd, services.settings, resources.found, resources.named)
        for warning in make_importable(found.modules):
            services.tell_once(warning)
        for path, problem in found.problems:
            runner.fail(path, "load", LoadFailed(problem))
        await self._load(runner, found.sources)
        runner.commit()
        return runner

    def forget(self) -> None:
        """Execute all modules anew the next time."""
        if self._loader is not None:
            self._loader.forget()

    def _find(self, cwd: Path, settings: Settings, resolution: Resolution, named: Resolution) -> Found:
        from piolet.app.extensions.sources import extension_sources

        return extension_sources(replace(self._runtime.options, cwd=cwd), settings, resolution, named)

    async def _load(self, runner: ExtensionRunner, sources: Sequence[ExtensionSource]) -> None:
        """Load those of `sources` that are not loaded yet, one after the other, and bring all into order."""
        if not sources:
            return
        from piolet.app.extensions.api import ExtensionAPI
        from piolet.app.extensions.extension import Extension
        from piolet.app.extensions.loader import Loader

        self._loader = self._loader or Loader()
        places = {source.path: place for place, source in enumerate(sources, 1)}
        tried = runner.tried
        for source in sources:
            if source.key in tried:
                continue
            tried.add(source.key)
            extension = Extension(source.path, source.info, places[source.path])
            try:
                await self._loader.load(source, ExtensionAPI(runner, extension))
            except LoadFailed as error:
                extension.make_stale()
                runner.bus.drop(extension)
                runner.fail(source.path, "load", error)
            else:
                runner.extensions.append(extension)
        for extension in runner.extensions:
            extension.rank = places.get(extension.path, extension.rank)
        runner.extensions.sort(key=lambda extension: extension.rank)
