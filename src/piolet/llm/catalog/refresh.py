"""Asking providers which models they have now. Not when offline; nobody asks unless the user wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from piolet.base.json import loads
from piolet.llm.catalog.listing import from_copilot, from_openai, from_openrouter
from piolet.llm.catalog.overlay import OverlaidCatalog
from piolet.llm.errors import LlmError, RequestError, header_secrets, hide_secrets, http_error_text, network_error
from piolet.llm.model import Model
from piolet.llm.provider_config import ModelPatch, ProviderConfig, apply
from piolet.llm.provider_table import BUILTIN_PROVIDERS, CHAT

if TYPE_CHECKING:
    from piolet.llm.models import Models
    from piolet.llm.pool import HttpPool

TIMEOUT = 15.0


def refreshable(models: Models) -> list[str]:
    """Return the providers whose list can be asked for: OpenRouter, Copilot, configured ones that name no models."""
    return [name for name in models.providers() if models.has_configured_auth(name) and _address(models, name)]


async def refresh_models(models: Models, *, catalog_url: str | None = None) -> Mapping[str, int | LlmError]:
    """Ask all providers that can be asked, store what they list, and let `models` know it.

    `catalog_url`: a list of model records for any of the known providers; what a provider itself lists goes before it.
    Return the number of models, or what went wrong, for each provider; a failure of the catalogue under its address.
    `models` must come from `Models.open`.
    """
    catalog = models.catalog
    assert isinstance(catalog, OverlaidCatalog), "the models of an agent folder have a place for lists"
    results: dict[str, int | LlmError] = {}
    found: dict[str, dict[str, Model]] = {}
    if catalog_url:
        try:
            for model in await _published(models, catalog_url):
                found.setdefault(model.provider, {})[model.id] = model
        except LlmError as error:
            results[catalog_url] = error
    names = refreshable(models)
    for name, listed in zip(names, await asyncio.gather(*(_listed(models, name) for name in names)), strict=True):
        if isinstance(listed, LlmError):
            results[name] = listed
        else:
            found.setdefault(name, {}).update((model.id, model) for model in listed)
    for name, by_id in found.items():
        if name in results:
            continue
        try:
            catalog.store(name, list(by_id.values()))
            results[name] = len(by_id)
        except OSError as error:
            results[name] = RequestError(f"What was listed cannot be stored: {error.strerror}")
    models.reload()
    return results


async def _published(models: Models, url: str) -> Sequence[Model]:
    """Return the models of a catalogue that belong to providers we know."""
    if not url.startswith("https://") and _parts(url).hostname not in ("127.0.0.1", "::1", "localhost"):
        raise RequestError("A catalogue must come over https: its models say where keys are sent")
    answer = await _get(models.http_pool, url, {})
    try:
        published = msgspec.convert(answer, list[Model])
    except msgspec.ValidationError as error:
        raise RequestError(f"The catalogue is no list of models: {error}") from None
    known = models.providers()
    return [model for model in published if model.provider in known]


def _address(models: Models, provider: str) -> str | None:
    """Where a provider's list is; None if there is none that we read, or the configuration already names the models."""
    configs = models.configurations(provider)
    configured = next((config.base_url for config in configs if config.base_url), None)
    if provider in ("openrouter", "github-copilot"):
        return configured or BUILTIN_PROVIDERS[provider].apis[CHAT]
    if any(config.models for config in configs) or CHAT not in {config.api for config in configs}:
        return None
    return configured


async def _listed(models: Models, provider: str) -> Sequence[Model] | LlmError:
    address = _address(models, provider)
    assert address is not None
    try:
        asked = _models_at(provider, address, [ModelPatch(id="any")])[0]
        auth = await models.resolve_auth(asked)
        headers = {"authorization": f"Bearer {auth.api_key}"} if auth.api_key else {}
        headers |= {name: value for name, value in auth.headers.items() if value is not None}
        try:
            answer = await _get(models.http_pool, f"{auth.base_url.rstrip('/')}/models", headers)
        except LlmError as error:
            return RequestError(hide_secrets(str(error), header_secrets(headers)))
        if provider == "openrouter":
            return from_openrouter(answer, models.catalog.models(provider))
        if provider == "github-copilot":
            return from_copilot(answer, models.catalog.models(provider), address)
        return _models_at(provider, address, from_openai(answer))
    except LlmError as error:
        return error


def _models_at(provider: str, address: str, listed: Sequence[ModelPatch]) -> Sequence[Model]:
    return apply(provider, ProviderConfig(base_url=address, api=CHAT, models=list(listed)), ())


async def _get(pool: HttpPool, url: str, headers: Mapping[str, str]) -> Any:
    import httpx

    host = _parts(url).netloc.rpartition("@")[2]
    try:
        client = await pool.client(url, {})
        response = await client.get(url, headers={"accept": "application/json", **headers}, timeout=TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise network_error(error, host) from None
    if response.status_code != 200:
        raise RequestError(http_error_text(response.status_code, response.content))
    try:
        return loads(response.content)
    except ValueError:
        raise RequestError("The list of models is no JSON") from None


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise RequestError("The address is not usable") from None
