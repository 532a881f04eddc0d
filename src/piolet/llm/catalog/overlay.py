"""Models that providers listed since the package was made, kept in the agent folder, one file a provider."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from piolet._version import __version__
from piolet.base.files import write_private
from piolet.base.json import encode
from piolet.llm.catalog import Catalog
from piolet.llm.model import Model


class _Stored(Struct, frozen=True):
    version: str
    models: list[Model]


class OverlaidCatalog:
    """A catalogue with the files of `folder` over it; a model of the same id goes before that of `base`.

    What another version of piolet stored does not count: its packaged models may be newer.
    """

    def __init__(self, base: Catalog, folder: Path) -> None:
        self._base = base
        self._folder = folder

    def providers(self) -> Sequence[str]:
        return self._base.providers()

    def models(self, provider: str) -> Sequence[Model]:
        models = {model.id: model for model in (*self._base.models(provider), *self._listed(provider))}
        return list(models.values())

    def store(self, provider: str, models: Sequence[Model]) -> None:
        """Replace what is stored for `provider`. OSError if it cannot be."""
        write_private(self._file(provider), encode(_Stored(__version__, list(models))))

    def _listed(self, provider: str) -> Sequence[Model]:
        try:
            stored = msgspec.json.decode(self._file(provider).read_bytes(), type=_Stored)
        except (OSError, msgspec.MsgspecError):
            return ()  # never stored, or damaged: the packaged models stand
        return [model for model in stored.models if model.provider == provider] if stored.version == __version__ else ()

    def _file(self, provider: str) -> Path:
        return self._folder / f"{quote(provider, safe='', errors='surrogatepass')}.json"
