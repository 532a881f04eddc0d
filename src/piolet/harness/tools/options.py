"""What the built-in tools ask whoever assembles them, at every call, because it can change within a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct


class ImageSettings(Struct, frozen=True):
    """How images are delivered. `max_bytes` counts base64 characters; without `auto_resize` bytes go unchanged."""

    auto_resize: bool = True
    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    jpeg_quality: int = 80


class ShellSpawn(Struct, frozen=True):
    """A command just before it runs; `env` is laid over the environment's variables, None unsets."""

    command: str
    cwd: str
    env: Mapping[str, str | None]


def _nothing() -> None:
    return None


def _no_variables() -> Mapping[str, str | None]:
    return {}


class ToolOptions(Struct, frozen=True):
    """Callables, asked at each call.

    `blind_model`: the id of the current model if it takes no images. `shell_path`, `command_prefix`: as the user set
    them. `command_variables`: for each command of the bash tool. `spawn_hook` may change a command before it runs.
    """

    image_settings: Callable[[], ImageSettings] = ImageSettings
    blind_model: Callable[[], str | None] = _nothing
    shell_path: Callable[[], str | None] = _nothing
    command_prefix: Callable[[], str | None] = _nothing
    command_variables: Callable[[], Mapping[str, str | None]] = _no_variables
    spawn_hook: Callable[[ShellSpawn], ShellSpawn] | None = None


DEFAULT_OPTIONS: Final = ToolOptions()
