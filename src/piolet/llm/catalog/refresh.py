"""Asking providers which models they have now. Not when offline; nobody asks unless the user wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from piolet.llm.catalog.listing import from_openai, from_openrouter
from piolet.llm.catalog.overlay import OverlaidCatalog
from piolet.llm.errors import LlmError, RequestError, http_error_text, network_error
from piolet.llm.model import Model
from piolet.llm.provider_config import ProviderConfig, apply
from piolet.llm.provider_table import BUILTIN_PROVIDERS, CHAT

if TYPE_CHECKING:
    from piolet.llm.models import Models
    from piolet.llm.pool import HttpPool

TIMEOUT = 15.0


def refreshable(models: Models) -> list[str]:
    """Return the providers whose list can be asked for: OpenRouter, and configured ones that name no models."""
    return [name for name in models.providers() if models.has_configured_auth(name) and _address(models, name)]


async def refresh_models(models: Models, providers: Sequence[str] | None = None) -> Mapping[str, int | LlmError]:
    """Ask `providers` (default: all that can be), store what they list, and let `models` know it.

    Return the number of models, or what went wrong, for each. `models` must come from `Models.open`.
    """
    catalog = models.catalog
    assert isinstance(catalog, OverlaidCatalog), "the models of an agent folder have a place for lists"
    names = refreshable(models) if providers is None else providers
    results: dict[str, int | LlmError] = {}
    for name, listed in zip(names, await asyncio.gather(*(_listed(models, name) for name in names)), strict=True):
        if isinstance(listed, LlmError):
            results[name] = listed
        else:
            catalog.store(name, listed)
            results[name] = len(listed)
    models.reload()
    return results


def _address(models: Models, provider: str) -> str | None:
    """Where a provider's list is; None if there is none that we read, or the configuration already names the models."""
    if provider == "openrouter":
        return BUILTIN_PROVIDERS[provider].apis[CHAT]
    configs = models.configurations(provider)
    if any(config.models for config in configs) or CHAT not in {config.api for config in configs}:
        return None
    return next((config.base_url for config in configs if config.base_url), None)


async def _listed(models: Models, provider: str) -> Sequence[Model] | LlmError:
    address = _address(models, provider)
    if address is None:
        return RequestError(f'The provider "{provider}" has no list of models that can be read')
    try:
        key = await asyncio.to_thread(models.api_key, provider)
        answer = await _get(models.http_pool, f"{address}/models", key)
        if provider == "openrouter":
            return from_openrouter(answer, models.catalog.models(provider))
        return apply(provider, ProviderConfig(base_url=address, api=CHAT, models=from_openai(answer)), ())
    except LlmError as error:
        return error


async def _get(pool: HttpPool, url: str, key: str | None) -> Any:
    import httpx

    headers = {"accept": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
    try:
        client = await pool.client(url, {})
        response = await client.get(url, headers=headers, timeout=TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise network_error(error, urlsplit(url).netloc.rpartition("@")[2]) from None
    if response.is_error:
        raise RequestError(http_error_text(response.status_code, response.content))
    try:
        return msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        raise RequestError("The list of models is no JSON") from None
