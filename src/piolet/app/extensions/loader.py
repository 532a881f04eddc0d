"""Loading an extension: its module is executed under a private name and its ``extension(pi)`` called.

What a module raises, or that it hangs, is a `LoadFailed`; nothing of it is kept then. What it prints goes to standard
error, since standard output belongs to the answer. Source: the extension specification, section 2.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import os
import signal
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from piolet.app.extensions.errors import LoadFailed

if TYPE_CHECKING:
    from piolet.app.extensions.api import ExtensionAPI
    from piolet.app.extensions.definitions import ExtensionFactory
    from piolet.app.extensions.sources import ExtensionSource

#: Seconds that one extension may take to load.
PATIENCE: Final = 20.0
PREFIX: Final = "piolet_ext_"


class _Hangs(BaseException):
    """Raised into a module that takes too long; no ``except Exception`` of its own can hold it up."""


class Loader:
    """Executes modules, each once until `forget`."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._factories: dict[str, ExtensionFactory] = {}

    async def load(self, source: ExtensionSource, api: ExtensionAPI) -> None:
        """Let the extension of `source` register what it has. Raises `LoadFailed`."""
        scope: asyncio.Timeout | None = None
        try:
            with _stdout_to_stderr(), _alarm(self._patience):
                result = self._factory(source)(api)
                if inspect.isawaitable(result):
                    async with asyncio.timeout(self._patience) as scope:
                        await result
        except LoadFailed:
            raise
        except (Exception, SystemExit, _Hangs) as error:
            if isinstance(error, _Hangs) or (scope is not None and scope.expired()):
                raise LoadFailed(f"it did not finish loading within {self._patience:g} s") from None
            raise LoadFailed(_told(error)) from error

    def forget(self) -> None:
        """Take the modules out again, so that the next load executes them anew."""
        self._factories.clear()
        for name in [name for name in sys.modules if name.startswith(PREFIX)]:
            cached = getattr(sys.modules.pop(name), "__cached__", None)
            with suppress(OSError):
                os.remove(cached or "")  # within one second a changed file may look unchanged
        importlib.invalidate_caches()

    def _factory(self, source: ExtensionSource) -> ExtensionFactory:
        if source.factory is not None:
            return source.factory
        if source.key not in self._factories:
            found = _entry_point(source.entry_point) if source.entry_point else _from_file(source.key)
            if not callable(found):
                raise LoadFailed(f"it has no function {'' if source.entry_point else 'extension(pi)'}".rstrip())
            self._factories[source.key] = found
        return self._factories[source.key]


def module_name(path: str) -> str:
    """Return the private name of the module at the real `path`."""
    data = os.fsencode(path)
    return f"{PREFIX}{zlib.crc32(data):08x}{zlib.adler32(data):08x}"


def _from_file(path: str) -> Any:
    """Execute the module, or the package, at the real `path` and return what it calls ``extension``.

    Every module is a package of the files beside it, so that relative imports work; nothing is put on ``sys.path``.
    """
    name = module_name(path)
    if os.path.isdir(path):
        path = os.path.join(path, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[os.path.dirname(path)])
    if spec is None or spec.loader is None:
        raise LoadFailed("it is no Python module")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        for part in [part for part in sys.modules if part == name or part.startswith(f"{name}.")]:
            del sys.modules[part]
        raise
    return getattr(module, "extension", None)


def _entry_point(value: str) -> Any:
    """Return the object that ``module:function`` names."""
    module, _, path = value.partition(":")
    found: Any = importlib.import_module(module.strip())
    for part in (path.split("[")[0].strip() or "extension").split("."):
        found = getattr(found, part)
    return found


def _told(error: BaseException) -> str:
    """Return the fault in one line; with the place, where a module has a syntax error."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({os.path.basename(error.filename or '?')}, line {error.lineno})"
    if isinstance(error, SystemExit):
        return "it tried to end the program"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `_Hangs` into the present task if it does not come back within `seconds`, also out of a blocking call.

    Only the main thread can be interrupted like that; elsewhere nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    task = asyncio.current_task()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if asyncio.current_task() is task:
            raise _Hangs

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Send to standard error what is written to standard output, also by programs that are started."""
    sys.stdout.flush()
    stdout, kept = sys.stdout, os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = stdout
        os.dup2(kept, 1)
        os.close(kept)
