"""``Extension``: one loaded extension, as the record of what it registered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from piolet.app.extensions.definitions import (
    CommandDefinition,
    Drawn,
    FlagDefinition,
    MarkdownTransformer,
    ShortcutDefinition,
    ToolDefinition,
)
from piolet.app.extensions.errors import StaleContextError

if TYPE_CHECKING:
    from piolet.app.commands import SourceInfo
    from piolet.llm.model import Model
    from piolet.llm.models import Models
    from piolet.llm.oauth.login import Login
    from piolet.llm.provider_config import ProviderConfig
    from piolet.llm.stream import StreamFunction


class Registration(Struct, frozen=True, eq=False):
    """A handler of an event."""

    event: str
    handler: Callable[..., Any]


class ProviderRegistration(Struct, frozen=True):
    """A provider, or changes to one: what `Models.register_provider` takes."""

    name: str
    config: ProviderConfig | Mapping[str, Any] | None = None
    models: Sequence[Model] = ()
    stream: StreamFunction | None = None
    login: Login | None = None

    def apply(self, models: Models) -> None:
        """Add it to `models`. Raises `ConfigError` or `msgspec.ValidationError` if it makes no provider."""
        models.register_provider(self.name, self.config, models=self.models, stream=self.stream, login=self.login)


class Extension:
    """See the module. `rank`: its place in the order of loading, from 1."""

    def __init__(self, path: str, info: SourceInfo, rank: int) -> None:
        self.path = path
        self.info = info
        self.rank = rank
        self.handlers: list[Registration] = []
        self.tools: dict[str, ToolDefinition] = {}
        self.commands: dict[str, CommandDefinition] = {}
        self.shortcuts: dict[str, ShortcutDefinition] = {}
        self.flags: dict[str, FlagDefinition] = {}
        self.providers: dict[str, ProviderRegistration] = {}
        self.message_renderers: dict[str, Callable[..., Drawn]] = {}
        self.entry_renderers: dict[str, Callable[..., Drawn]] = {}
        self.markdown_transformers: list[MarkdownTransformer] = []
        self.tool_renderers: list[Callable[..., Any]] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self._stale = False

    def __str__(self) -> str:
        return self.path

    def check(self) -> None:
        """Raise `StaleContextError` if the session or the extension was replaced."""
        if self._stale:
            raise StaleContextError(
                f"{self.path}: this object belongs to a session that was replaced or reloaded; use the context that "
                "the new one hands out (in with_session, or in a handler of session_start)"
            )

    def make_stale(self) -> None:
        """Let every further use of its objects raise."""
        self._stale = True
