"""The secrets that this machine knows: what must stand in no page, report or message that leaves the program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from piolet.app.json_files import read_text
from piolet.base import jsonc

MASK = "[secret]"
#: Shorter values are placeholders such as "none", and would hide ordinary words.
SHORTEST = 8

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|AUTHORIZATION)\Z", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


class Secrets:
    """Texts to hide. Files that cannot be read have none to tell."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {form for value in values if len(value) >= SHORTEST for form in (value, json.dumps(value)[1:-1])}
        longest_first = sorted(known, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if known else None

    @classmethod
    def of(cls, agent_dir: Path, environ: Mapping[str, str], *more: str | None) -> Secrets:
        """Return the secrets of an agent folder (auth.json, models.json), of variables, and those given."""
        written = [*_stored(_json(agent_dir / "auth.json")), *_configured(_json(agent_dir / "models.json"))]
        names = {name for value in written for name in _VARIABLE.findall(value)}
        named = (value for name, value in environ.items() if name in names or _SECRET_NAME.search(name))
        literal = (value for value in written if not value.startswith(("$", "!")))
        return cls([*literal, *named, *(value for value in more if value)])

    def mask(self, text: str) -> str:
        """Return `text` with every secret replaced."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def mask_in(self, value: Any) -> Any:
        """Return a JSON value with the secrets in all its texts replaced."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.mask_in(item) for item in value]
        if isinstance(value, dict):
            return {self.mask(key): self.mask_in(item) for key, item in value.items()}
        return value


def _json(path: Path) -> dict[str, Any]:
    try:
        value = jsonc.loads(read_text(path) or "{}")
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _stored(auth: Mapping[str, Any]) -> Iterator[str]:
    """Give the secrets of auth.json, as they are written."""
    for credential in auth.values():
        if isinstance(credential, dict):
            variables = credential.get("env")
            values = [credential.get(name) for name in ("key", "access", "refresh")]
            values += variables.values() if isinstance(variables, dict) else []
            yield from (value for value in values if isinstance(value, str))


def _configured(models: Mapping[str, Any]) -> Iterator[str]:
    """Give the secrets of models.json, as they are written: keys, and headers that have such a name."""
    providers = models.get("providers")
    for provider in providers.values() if isinstance(providers, dict) else ():
        headers = provider.get("headers") if isinstance(provider, dict) else None
        values = [provider.get("apiKey")] if isinstance(provider, dict) else []
        if isinstance(headers, dict):
            values += [value for name, value in headers.items() if _SECRET_NAME.search(name)]
        yield from (value for value in values if isinstance(value, str))
