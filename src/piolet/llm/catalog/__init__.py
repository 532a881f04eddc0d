"""The models that are built in, read from the package by provider when somebody asks for them.

The data are the JSON files here, one line a model, made by `scripts/build_catalog.py`; NOTICE says from what.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from piolet.llm.model import Model


class Catalog(Protocol):
    """Where the models of providers are looked up."""

    def providers(self) -> Sequence[str]: ...

    def models(self, provider: str) -> Sequence[Model]:
        """Return the models of `provider`, none if it is unknown."""


class BuiltinCatalog:
    """The packaged models. What was read is kept: the data do not change while we run."""

    def providers(self) -> Sequence[str]:
        return _providers()

    def models(self, provider: str) -> Sequence[Model]:
        return _models(provider) if provider in _providers() else ()


@functools.cache
def _providers() -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in Path(__file__).parent.glob("*.json")))


@functools.cache
def _models(provider: str) -> tuple[Model, ...]:
    return msgspec.json.decode((Path(__file__).parent / f"{provider}.json").read_bytes(), type=tuple[Model, ...])
