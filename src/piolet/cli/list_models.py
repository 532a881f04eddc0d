"""``--list-models``: a table of the models that have credentials (the command line specification, section 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from piolet.app.options import RuntimeOptions
from piolet.cli.extensions import with_extensions
from piolet.llm.credentials.errors import CredentialError
from piolet.llm.model import Model
from piolet.modes.say import one_line, warn

HEADER = ("provider", "model", "context", "max-out", "thinking", "images")


def list_models(options: RuntimeOptions, search: str) -> int:
    """Print the models whose provider and id hold the words of `search`; return the exit code."""
    available = asyncio.run(_available(options))
    if not available:
        print("No models available. Set a provider's API key, or run: piolet auth login PROVIDER")
        return 0
    words = search.lower().replace("/", " ").split()
    found = [model for model in available if _fits(f"{model.provider} {model.id}".lower(), words)]
    if not found:
        print(f'No models matching "{search}"')
        return 0
    rows = [HEADER, *(_row(model) for model in sorted(found, key=lambda model: (model.provider, model.id)))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for row in rows:
        print(one_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))))
    return 0


async def _available(options: RuntimeOptions) -> list[Model]:
    async with with_extensions(options) as runtime:
        models = runtime.services.models
        for notice in runtime.services.notices:
            warn(notice)
        try:
            models.credentials.providers()
        except CredentialError as error:
            warn(str(error))
        return models.get_available()


def _fits(text: str, words: Sequence[str]) -> bool:
    """Whether each word's letters stand in `text` in that order."""

    def scattered(word: str) -> bool:
        letters = iter(text)
        return all(letter in letters for letter in word)

    return all(scattered(word) for word in words)


def _row(model: Model) -> tuple[str, ...]:
    return (
        model.provider,
        model.id,
        _tokens(model.context_window),
        _tokens(model.max_tokens),
        "yes" if model.reasoning else "no",
        "yes" if "image" in model.input else "no",
    )


def _tokens(count: int) -> str:
    for unit, size in (("M", 1_000_000), ("K", 1000)):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)
