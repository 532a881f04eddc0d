"""models.json: providers and models that a user adds or changes. Read again when it changed.

Source: resources, section 13. A broken file is told in `error` and counts as empty, a broken provider alone is left
out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from piolet.base import jsonc
from piolet.llm.provider_config import ConfigError, ProviderConfig, check


class ModelsFile:
    """The file at `path`. `configs`: provider id to its configuration; `error`: what was wrong, in words."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.configs: Mapping[str, ProviderConfig] = {}
        self.error: str | None = None
        self._seen: tuple[int, int, int] | None = None
        self.reload()

    def reload(self) -> None:
        """Read the file if it changed since."""
        try:
            stat = self.path.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if seen != self._seen:
                self.configs, self.error = parse(self.path.read_bytes(), str(self.path))
                self._seen = seen
        except FileNotFoundError:
            self._seen, self.configs, self.error = None, {}, None
        except OSError as error:
            self._seen, self.configs, self.error = None, {}, f"{self.path} cannot be read: {error.strerror}"


def parse(data: bytes, path: str) -> tuple[dict[str, ProviderConfig], str | None]:
    """Return the providers that the text of a models.json gives, and what was wrong with it, None if nothing."""
    try:
        value: Any = jsonc.loads(data.decode())
        raw = _providers(value)
        configs = {name: msgspec.convert(entry, ProviderConfig) for name, entry in raw.items()}
    except json.JSONDecodeError as error:
        return {}, f"{path}, line {error.lineno}, column {error.colno}: {error.msg}"
    except msgspec.ValidationError as error:
        return {}, f"{path}: {error} (in the provider {_culprit(raw)!r})"
    except ValueError as error:
        return {}, f"{path}: {error}"
    errors = []
    for name, config in list(configs.items()):
        try:
            check(name, config)
        except ConfigError as error:
            errors.append(str(error))
            del configs[name]
    return configs, f"{path}: {'; '.join(errors)}" if errors else None


def _providers(value: Any) -> dict[str, Any]:
    providers = value.get("providers", {}) if isinstance(value, dict) else None
    if not isinstance(providers, dict):
        raise ValueError('it must be an object with an object "providers"')
    return providers


def _culprit(providers: Mapping[str, Any]) -> str:
    """The first provider whose configuration does not convert."""
    for name, entry in providers.items():
        try:
            msgspec.convert(entry, ProviderConfig)
        except msgspec.ValidationError:
            return name
    return ""
