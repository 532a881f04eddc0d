"""Model servers of this machine that nobody configured: used when one is asked for by name, else only named.

On a shared machine the port may be another user's: nothing is sent there unasked. Source: the command line
specification, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from piolet.app.options import RuntimeOptions
from piolet.app.settings import Settings
from piolet.llm.models import Models

if TYPE_CHECKING:
    from piolet.llm.local_servers import LocalServer


async def add_local_server(models: Models, options: RuntimeOptions, settings: Settings) -> None:
    """Add the server that ``--model NAME/ID`` or the default of the settings asks for as a provider.

    Nothing is added if it does not run or a provider has its name.
    """
    asked = options.provider or (options.model or "").partition("/")[0]
    name = asked if options.model or options.provider else settings.default_provider
    if options.offline or not name or name in models.providers():
        return
    from piolet.llm.local_servers import PORTS, find_local_servers

    if name in PORTS:
        for server in await find_local_servers({name: PORTS[name]}):
            models.register_provider(name, server.config())


async def unconfigured_servers(options: RuntimeOptions, settings: Settings) -> Sequence[LocalServer]:
    """Return the servers that answer; none when offline, or when the user does not want to hear of them."""
    if options.offline or not settings.local_servers:
        return ()
    from piolet.llm.local_servers import find_local_servers

    return await find_local_servers()


def how_to_use(servers: Sequence[LocalServer]) -> str:
    """Return what to tell a user without a model of the servers that were found."""
    found = ", ".join(f"{server.name} at {server.base_url}" for server in servers)
    model = servers[0].models[0].id
    return (
        f"No model is configured. On this machine answers: {found}. If it is yours, use it with "
        f"--model {servers[0].name}/{model}"
    )
