"""What models.json, an extension or an embedder says of one provider, and how that changes its models.

Everything here is pure. Sources: providers, section 11 (models.json); resources, section 13.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from piolet.llm.messages import Record
from piolet.llm.model import CostTier, Model
from piolet.llm.oauth.config import LoginConfig
from piolet.llm.provider_table import BUILTIN_PROVIDERS

Count: TypeAlias = Annotated[int, Meta(gt=0)]


class CostPatch(Record, frozen=True):
    """Rates that replace those of a model, one by one."""

    input: float | UnsetType = UNSET
    output: float | UnsetType = UNSET
    cache_read: float | UnsetType = UNSET
    cache_write: float | UnsetType = UNSET
    tiers: list[CostTier] | UnsetType = UNSET


class ModelPatch(Record, frozen=True):
    """Fields of a model, each optional. `headers` are configuration values (``$NAME``, ``!command``)."""

    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    api: str | UnsetType = UNSET
    base_url: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    reasoning: bool | UnsetType = UNSET
    thinking_level_map: dict[str, str | None] | UnsetType = UNSET
    input: list[Literal["text", "image"]] | UnsetType = UNSET
    input_limits: dict[str, Any] | UnsetType = UNSET
    cost: CostPatch | UnsetType = UNSET
    prompt_cache: dict[str, Any] | UnsetType = UNSET
    context_window: Count | UnsetType = UNSET
    max_tokens: Count | UnsetType = UNSET
    sampling_params: dict[str, Any] | UnsetType = UNSET
    sampling_params_by_thinking_level: dict[str, dict[str, Any]] | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    compat: dict[str, Any] | UnsetType = UNSET


class ProviderConfig(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Changes to a known provider, or a new one, which needs `base_url` and, itself or per model, `api`.

    `api_key` and `headers` are configuration values: text, ``$NAME``, ``${NAME}`` or ``!command``. `auth_header` sends
    the key as ``Authorization: Bearer``. `models` replace those of the same id, `model_overrides` change single fields.
    `login`: how to log in to it (a key of our own; `oauth` belongs to the original and is ignored).
    """

    name: str | None = None
    base_url: str | None = None
    api: str | None = None
    api_key: str | None = None
    headers: dict[str, str] = {}
    auth_header: bool = False
    compat: dict[str, Any] = {}
    models: list[ModelPatch] = []
    model_overrides: dict[str, ModelPatch] = {}
    login: LoginConfig | None = None

    def __repr__(self) -> str:
        return f"ProviderConfig(name={self.name!r}, base_url={self.base_url!r}, {len(self.models)} models)"

    def model_headers(self, model_id: str) -> dict[str, str]:
        """Return the headers of one model, unresolved: the provider's, the model's, the override's."""
        found = dict(self.headers)
        named = [model for model in self.models if model.id == model_id]
        for patch in (*named, *filter(None, [self.model_overrides.get(model_id)])):
            found |= patch.headers or {}
        return found


class ConfigError(ValueError):
    """A provider's configuration cannot be used. The message names the provider and what it lacks."""


def apply(provider: str, config: ProviderConfig, base: Sequence[Model]) -> list[Model]:
    """Return the models of `provider`: those of `base`, changed and completed as `config` says."""
    models = {model.id: _redirect(model, config) for model in base}
    for patch in config.models:
        custom = _custom_model(provider, config, patch, base)
        models[custom.id] = custom
    for model_id, patch in config.model_overrides.items():
        if model_id in models:
            models[model_id] = _override(models[model_id], patch)
    return list(models.values())


def check(provider: str, config: ProviderConfig) -> None:
    """Raise `ConfigError` for what cannot make a provider: nothing said, a model without id, api or address."""
    if config == ProviderConfig():
        raise ConfigError(
            f'provider "{provider}": nothing is configured, give baseUrl, headers, models or modelOverrides'
        )
    for patch in config.models:
        _custom_model(provider, config, patch, ())


def _redirect(model: Model, config: ProviderConfig) -> Model:
    if not (config.base_url or config.compat):
        return model
    compat = _merged(model.compat, config.compat)
    return msgspec.structs.replace(model, base_url=config.base_url or model.base_url, compat=compat or None)


def _custom_model(provider: str, config: ProviderConfig, patch: ModelPatch, base: Iterable[Model]) -> Model:
    if not patch.id:
        raise ConfigError(f'provider "{provider}": each of "models" needs an "id"')
    builtin = BUILTIN_PROVIDERS.get(provider)
    urls: Mapping[str, str] = builtin.apis if builtin else {model.api: model.base_url for model in base}
    api = patch.api or config.api or next(iter(urls), None)
    if not api:
        raise ConfigError(
            f'provider "{provider}", model "{patch.id}": "api" is missing, give it to the provider or model'
        )
    base_url = patch.base_url or config.base_url or urls.get(api)
    if base_url is None:
        raise ConfigError(f'provider "{provider}", model "{patch.id}": "baseUrl" is missing')
    fields = _fields(patch)
    fields["compat"] = _merged(config.compat, fields.get("compat")) or None
    return msgspec.convert(
        {
            "name": patch.id,
            "reasoning": False,
            "input": ["text"],
            "cost": {},
            "contextWindow": 128_000,
            "maxTokens": 16_384,
            **fields,
            "api": api,
            "provider": provider,
            "baseUrl": base_url,
        },
        Model,
    )


def _override(model: Model, patch: ModelPatch) -> Model:
    fields = msgspec.to_builtins(model)
    changes = _fields(patch)
    changes.pop("id", None)
    return msgspec.convert(_merged(fields, changes), Model)


def _fields(patch: ModelPatch) -> dict[str, Any]:
    """The fields that are set, by their JSON names; headers are not part of a model, they may hold secrets."""
    fields: dict[str, Any] = msgspec.to_builtins(patch)
    fields.pop("headers", None)
    return fields


def _merged(base: Mapping[str, Any] | None, over: Mapping[str, Any] | None) -> dict[str, Any]:
    """Objects are merged, everything else is replaced."""
    result = dict(base or {})
    for key, value in (over or {}).items():
        old = result.get(key)
        result[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
