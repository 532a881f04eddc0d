"""Changes of one file wait for each other; different files change in parallel.

Source: the tools specification, section 10. The queue is shared by edit, write and whatever else changes files.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from piolet.harness.environments.base import Environment


class FileMutationQueue:
    """One first-in first-out queue per real file. It does not keep `environment` alive, which it lives as long as."""

    def __init__(self, environment: Environment) -> None:
        self._environment: Environment = weakref.proxy(environment)
        self._entrance = asyncio.Lock()
        self._last: dict[str, asyncio.Future[None]] = {}

    @classmethod
    def of(cls, environment: Environment) -> FileMutationQueue:
        """Return the queue that all who change files of `environment` share."""
        if environment not in _shared:
            _shared[environment] = cls(environment)
        return _shared[environment]

    @asynccontextmanager
    async def turn(self, find_path: Callable[[], Awaitable[str]]) -> AsyncIterator[str]:
        """Find the path, wait until every earlier change of that file is over, and give the path.

        Callers get their turns in the order in which they arrived here, however long finding a path takes.
        """
        async with self._entrance:
            path = await find_path()
            key = await self._environment.canonical(path)
            before = self._last.get(key)
            done = self._last[key] = asyncio.get_running_loop().create_future()
        try:
            if before is not None:
                await asyncio.shield(before)
            yield path
        finally:
            if before is None or before.done():
                self._leave(key, done)
            else:  # cancelled while waiting: those behind still wait for those before
                before.add_done_callback(lambda _: self._leave(key, done))

    def _leave(self, key: str, done: asyncio.Future[None]) -> None:
        done.set_result(None)
        if self._last.get(key) is done:
            del self._last[key]


_shared: weakref.WeakKeyDictionary[Environment, FileMutationQueue] = weakref.WeakKeyDictionary()
