"""Nothing is configured: may a model server of this machine be used? Asked once; the answer is kept in the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piolet.app.local_models import unconfigured_servers
from piolet.app.settings import Settings, SettingsError
from piolet.modes.interactive.commands.models import NO_MODEL, use
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.llm.local_servers import LocalServer
    from piolet.modes.interactive.face import Face

_NEVER = "never"
_SHARED = "Where several people share a machine, it may be somebody else's."


async def offer_local_servers(face: Face) -> None:
    """Let the user choose a model of the servers that answer; without one, say how to get another."""
    services = face.runtime.services
    servers = await unconfigured_servers(services.options, services.settings)
    choices: list[Item[tuple[LocalServer, str] | str]] = [
        Item((server, model.id), str(model.id), f"{server.name} at {server.base_url}")
        for server in servers
        for model in server.models
        if isinstance(model.id, str)
    ]
    choice = None
    if choices:
        choices.append(Item(_NEVER, "None of them", "do not ask again"))
        title = "No model is configured. Use one that this machine serves?"
        choice = await face.dialogs.choose(title, choices, hints=[_SHARED])
    try:
        if isinstance(choice, tuple):
            server, model_id = choice
            services.models.register_provider(server.name, server.config())
            model = services.models.find(server.name, model_id)
            assert model is not None
            await use(face, model)
            services.files.set(Settings.default_provider, server.name)
            services.files.set(Settings.default_model, model_id)
            return
        if choice == _NEVER:
            services.files.set(Settings.local_servers, False)
    except SettingsError as error:
        face.presenter.error(str(error))
    face.presenter.warn(NO_MODEL)
