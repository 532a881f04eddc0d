"""The extensions, loaded for a command that has no session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from piolet.app.options import RuntimeOptions
from piolet.modes.say import warn

if TYPE_CHECKING:
    from piolet.app.runtime import Runtime


@asynccontextmanager
async def with_extensions(options: RuntimeOptions) -> AsyncIterator[Runtime]:
    """Load what `options` choose, and warn of extensions that cannot be. Raises `SettingsError`, `TrustError`."""
    from piolet.app.runtime import Runtime

    async with Runtime.without_session(options) as runtime:
        for failure in runtime.extensions.failures:
            warn(f"{failure.owner}: {failure.error}")
        yield runtime
