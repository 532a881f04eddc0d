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
        raw = _providers(jsonc.loads(data.decode()))
    except json.JSONDecodeError as error:
        return {}, f"{path}, line {error.lineno}, column {error.colno}: {error.msg}. Repair it, or move it away"
    except UnicodeDecodeError:
        return {}, f"{path}: it is no UTF-8 text"
    except ValueError as error:
        return {}, f"{path}: {error}"
    configs, errors = {}, []
    for name, entry in raw.items():
        try:
            config = msgspec.convert(_plain(entry), ProviderConfig)
            check(name, config)
            configs[name] = config
        except msgspec.ValidationError as error:
            errors.append(f'provider "{name}": {error}')
        except ConfigError as error:
            errors.append(str(error))
    return configs, f"{path}: {'; '.join(errors)}" if errors else None


def _providers(value: Any) -> dict[str, Any]:
    providers = value.get("providers", {}) if isinstance(value, dict) else None
    if not isinstance(providers, dict):
        raise ValueError('it must be an object with an object "providers"')
    return providers


def _plain(value: Any) -> Any:
    """Return a JSON value as records take it: whole numbers are integers, also 1e6; no string has lone surrogates."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value
