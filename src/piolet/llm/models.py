"""The models that can be asked, and asking them: catalogue, configuration and credentials brought together.

`Models` is an instance that its owner passes around; a process may hold as many as it has tenants. It knows no wire
protocol and no terminal.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from piolet.base.abort import Aborted, abortable
from piolet.base.ids import now_ms
from piolet.llm.catalog import BuiltinCatalog, Catalog
from piolet.llm.catalog.overlay import OverlaidCatalog
from piolet.llm.credentials.config_value import kill
from piolet.llm.credentials.errors import LoginError, MissingCredentials
from piolet.llm.credentials.records import REFRESH_MARGIN_MS, AuthStatus, OAuthCredential, RequestAuth
from piolet.llm.credentials.resolve import ProviderAuth
from piolet.llm.credentials.store import AuthFile, CredentialStore, MemoryCredentials
from piolet.llm.errors import LlmError
from piolet.llm.events import AssistantEvent, ErrorEvent
from piolet.llm.messages import NO_USAGE, AssistantMessage
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.models_file import ModelsFile
from piolet.llm.provider_config import ProviderConfig, apply, check
from piolet.llm.provider_table import BUILTIN_PROVIDERS
from piolet.llm.stream import AssistantStream, StreamFunction

if TYPE_CHECKING:
    from piolet.llm.oauth.login import Login, LoginUI
    from piolet.llm.pool import HttpPool


class Provider(Struct, frozen=True):
    """A provider as it stands now. `default_model`: the id that is chosen first, if it is among the models."""

    id: str
    name: str
    models: Sequence[Model]
    default_model: str | None = None


class _Registration(Struct, frozen=True):
    """What an extension or embedder added. `models` are complete ones, before those of the configuration."""

    config: ProviderConfig
    models: Sequence[Model]
    stream: StreamFunction | None
    login: Login | None


class Models:
    """All models of one owner.

    `catalog`: the built-in models. `credentials`: where keys are stored. `models_file`: a models.json. `environ`: the
    variables that may hold keys and settings of providers. `proxy`: before those that the environment names.
    """

    def __init__(
        self,
        *,
        catalog: Catalog | None = None,
        credentials: CredentialStore | None = None,
        models_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        proxy: str | None = None,
    ) -> None:
        self.credentials: CredentialStore = MemoryCredentials() if credentials is None else credentials
        self.catalog: Catalog = BuiltinCatalog() if catalog is None else catalog
        self._file = None if models_file is None else ModelsFile(models_file)
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._proxy = proxy
        self._pool: HttpPool | None = None
        self._registered: dict[str, _Registration] = {}
        self._runtime_keys: dict[str, str] = {}
        self._command_results: dict[str, str] = {}
        self._merged: dict[str, Sequence[Model]] = {}

    @classmethod
    def open(cls, agent_dir: Path, *, environ: Mapping[str, str] | None = None, proxy: str | None = None) -> Models:
        """Return the models of an agent folder: its auth.json, and its models.json over the built-in catalogue."""
        return cls(
            catalog=OverlaidCatalog(BuiltinCatalog(), agent_dir / "piolet" / "catalog"),
            credentials=AuthFile(agent_dir / "auth.json"),
            models_file=agent_dir / "models.json",
            environ=environ,
            proxy=proxy,
        )

    # ------------------------------------------------------------------------------------------------- looking up

    @property
    def error(self) -> str | None:
        """What is wrong with models.json, in words for the user; None if nothing is."""
        return self._file.error if self._file else None

    def reload(self) -> None:
        """Read again what may have changed: models.json, and the models that providers have listed."""
        if self._file:
            self._file.reload()
        self._merged.clear()

    def providers(self) -> list[str]:
        """The ids of all providers, the built-in ones first."""
        configured = self._file.configs if self._file else {}
        return list(dict.fromkeys((*self.catalog.providers(), *configured, *self._registered)))

    def get_provider(self, provider: str) -> Provider | None:
        models = self.provider_models(provider)
        if not models and provider not in self.providers():
            return None
        builtin = BUILTIN_PROVIDERS.get(provider)
        names = [config.name for config in self.configurations(provider) if config.name]
        name = names[0] if names else builtin.name if builtin else provider
        return Provider(provider, name, models, builtin.default_model if builtin else None)

    def provider_models(self, provider: str) -> Sequence[Model]:
        """The models of one provider; reads only what that needs."""
        if provider not in self._merged:
            self._merged[provider] = self._merge(provider)
        return self._merged[provider]

    def find(self, provider: str, model_id: str) -> Model | None:
        return next((model for model in self.provider_models(provider) if model.id == model_id), None)

    def get_all(self) -> list[Model]:
        return [model for provider in self.providers() for model in self.provider_models(provider)]

    def get_available(self) -> list[Model]:
        """The models of the providers that have credentials and can be asked."""
        usable = (provider for provider in self.providers() if self.has_configured_auth(provider))
        return [model for provider in usable for model in self.provider_models(provider) if self.can_be_asked(model)]

    def can_be_asked(self, model: Model) -> bool:
        """Whether somebody here speaks the protocol of `model`; a few built-in providers have one for extensions."""
        builtin, registered = BUILTIN_PROVIDERS.get(model.provider), self._registered.get(model.provider)
        foreign = builtin is not None and builtin.foreign and model.api in builtin.apis
        return not foreign or (registered is not None and registered.stream is not None)

    def start_default(self) -> Model | None:
        """The model to start with when nobody named one: the default of the first provider with credentials."""
        for builtin in BUILTIN_PROVIDERS.values():
            if self.has_configured_auth(builtin.id):
                model = self.find(builtin.id, builtin.default_model)
                if model is not None and self.can_be_asked(model):
                    return model
        return next(iter(self.get_available()), None)

    def configurations(self, provider: str) -> list[ProviderConfig]:
        """What models.json, extensions and the embedder say of a provider, the strongest first."""
        registered = self._registered.get(provider)
        configured = self._file.configs.get(provider) if self._file else None
        return [config for config in (registered.config if registered else None, configured) if config is not None]

    # -------------------------------------------------------------------------------------------------- changing

    def register_provider(
        self,
        provider: str,
        config: ProviderConfig | Mapping[str, Any] | None = None,
        *,
        models: Sequence[Model] = (),
        stream: StreamFunction | None = None,
        login: Login | None = None,
    ) -> None:
        """Add a provider or change one, until `unregister_provider`.

        `config` may have the JSON form of models.json. `models` are complete records; `stream` answers in place of the
        wire protocols, and needs credentials only if there is a `login`, which gets and renews tokens. `ConfigError` or
        `msgspec.ValidationError` if `config` is wrong.
        """
        if config is None:
            config = ProviderConfig()
        elif not isinstance(config, ProviderConfig):
            config = msgspec.convert(dict(config), ProviderConfig)
        if config != ProviderConfig() or not (models or stream or login):
            check(provider, config)
        self._registered[provider] = _Registration(config, models, stream, login)
        self._merged.pop(provider, None)

    def unregister_provider(self, provider: str) -> None:
        """Take back what was registered; the provider is as built in and configured again."""
        self._registered.pop(provider, None)
        self._merged.pop(provider, None)

    def set_runtime_key(self, provider: str, key: str | None) -> None:
        """Use `key` before all other sources (``--api-key``); it is never stored. None takes it back."""
        if key is None:
            self._runtime_keys.pop(provider, None)
        else:
            self._runtime_keys[provider] = key

    # ------------------------------------------------------------------------------------------------- credentials

    def has_configured_auth(self, provider: str | Model) -> bool:
        """Whether the provider has credentials, as far as that shows without a command or the network."""
        return self.auth_status(provider).configured

    def is_using_oauth(self, provider: str | Model) -> bool:
        return self.auth_status(provider).oauth

    def auth_status(self, provider: str | Model) -> AuthStatus:
        """Whether and from where the provider has credentials."""
        name = provider if isinstance(provider, str) else provider.provider
        status = self._auth(name).status()
        registered = self._registered.get(name)
        if registered and registered.stream and not registered.login and not status.configured:
            return AuthStatus(name, True, "extension")
        return status

    def login(self, provider: str) -> Login | None:
        """How to log in to the provider; None if that is not known. A key can be stored for any provider."""
        registered = self._registered.get(provider)
        if registered and registered.login:
            return registered.login
        configured = next((config.login for config in self.configurations(provider) if config.login), None)
        if configured is not None:
            from piolet.llm.oauth.configured import ConfiguredLogin

            return ConfiguredLogin(provider, configured, self._proxy)
        if provider == "openrouter":
            from piolet.llm.oauth.openrouter import OpenRouterLogin

            return OpenRouterLogin(proxy=self._proxy)
        return None

    def api_key(self, provider: str) -> str | None:
        """Return the provider's key or token; None if it needs none. May block; `CredentialError` if it is missing."""
        return self._auth(provider).key()

    async def bearer_token(self, provider: str, *, left_ms: int = REFRESH_MARGIN_MS) -> str:
        """Return the token of a stored login, renewed if it lives shorter than `left_ms`; `CredentialError` if not."""
        renew = self._auth(provider).renew
        login = await asyncio.to_thread(self.credentials.refresh, provider, renew, left_ms)
        if login.expires_within(left_ms):
            raise LoginError(f'The tokens for "{provider}" do not live as long as that.')
        return login.access

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        """Log in and store what came of it; `CredentialError` if nothing did."""
        login = self.login(provider)
        if login is None:
            raise LoginError(
                f'There is no login for "{provider}": store a key with `piolet auth login {provider} --api-key`.'
            )
        credential = await login.login(ui)
        await asyncio.to_thread(self.credentials.set, provider, credential)

    async def resolve_auth(self, model: Model, key: str | None = None) -> RequestAuth:
        """Return key, headers, address and variables for a request to `model`; `CredentialError` if there are none.

        `key`, if given, goes before all stored and configured ones.
        """
        configs = self.configurations(model.provider)
        headers: dict[str, str] = {}
        for config in reversed(configs):
            headers |= config.model_headers(model.id)
        auth = self._auth(model.provider, key)
        try:
            return await asyncio.to_thread(auth.resolve, model, headers)
        except asyncio.CancelledError:
            kill(auth.running)  # nobody waits for the command; a login that is being renewed goes on
            raise

    # ------------------------------------------------------------------------------------------------------ asking

    def stream(self, model: Model, context: Context, options: StreamOptions | None = None) -> AssistantStream:
        """Return one answer of `model` as it comes. Credentials are looked up when the stream is first read."""
        started = now_ms()
        options = options or StreamOptions()
        inner: AssistantStream | None = None

        async def events() -> AsyncGenerator[AssistantEvent, None]:
            nonlocal inner
            reason: Literal["error", "aborted"] = "error"
            try:
                inner = await self._open(model, context, options)
            except Aborted:
                reason, text = "aborted", "Request was aborted"
            except LlmError as error:
                text = str(error)
            else:
                async with aclosing(inner):
                    async for event in inner:
                        stream.retry_after_ms = inner.retry_after_ms
                        yield event
                return
            yield ErrorEvent(reason, _unanswered(model, started, reason, text))

        def partial() -> AssistantMessage:
            return inner.partial if inner is not None else _unanswered(model, started, "pending", None)

        stream = AssistantStream(events(), partial)
        return stream

    async def complete(self, model: Model, context: Context, options: StreamOptions | None = None) -> AssistantMessage:
        """Return the whole answer; a failure is its `stop_reason` and `error_message`."""
        return await self.stream(model, context, options).result()

    @property
    def http_pool(self) -> HttpPool:
        """The connections of these models, kept between requests."""
        if self._pool is None:
            from piolet.llm.pool import HttpPool

            self._pool = HttpPool(self._proxy)
        return self._pool

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if self._pool is not None:
            await self._pool.aclose()

    # -------------------------------------------------------------------------------------------------------------

    async def _open(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream:
        registered = self._registered.get(model.provider)
        send = registered.stream if registered else None
        try:
            auth = await abortable(self.resolve_auth(model, options.api_key), options.signal)
        except MissingCredentials:
            if send is None or (registered and registered.login):
                raise
            auth = RequestAuth(base_url=model.base_url)
        headers = {**auth.headers, **{name.lower(): value for name, value in options.headers.items()}}
        builtin = BUILTIN_PROVIDERS.get(model.provider)
        if builtin and builtin.session_header and options.session_id:
            headers.setdefault(builtin.session_header, options.session_id)
        model = msgspec.structs.replace(model, base_url=auth.base_url)
        own = {} if self._environ is os.environ else self._environ
        env = {**own, **auth.env, **options.env}
        options = replace(options, api_key=auth.api_key, headers=headers, env=env)
        if send is not None:
            return send(model, context, options)
        from piolet.llm.transport import run_request

        return run_request(model, context, options, self.http_pool)

    def _auth(self, provider: str, key: str | None = None) -> ProviderAuth:
        return ProviderAuth(
            provider,
            self.configurations(provider),
            self.credentials,
            self._environ,
            runtime_key=key if key is not None else self._runtime_keys.get(provider),
            renew=lambda credential: self._renew(provider, credential),
            command_results=self._command_results,
        )

    def _renew(self, provider: str, credential: OAuthCredential) -> OAuthCredential:
        """Runs in a thread of its own loop: once begun it goes on whoever gives up, for the old token may be spent."""
        login = self.login(provider)
        if login is None:
            raise LoginError(f'The login for "{provider}" has expired, and how to renew it is not configured.')
        try:
            return asyncio.run(login.renew(credential))
        except LlmError:
            raise
        except Exception as error:
            raise LoginError(f'The login for "{provider}" could not be renewed: {type(error).__name__}') from error

    def _merge(self, provider: str) -> Sequence[Model]:
        models = self.catalog.models(provider)
        if registered := self._registered.get(provider):
            complete = {model.id: model for model in (*models, *registered.models)}
            models = list(complete.values())
        for config in reversed(self.configurations(provider)):
            models = apply(provider, config, models)
        return models


def _unanswered(
    model: Model, started: int, reason: Literal["pending", "error", "aborted"], text: str | None
) -> AssistantMessage:
    return AssistantMessage(
        content=[],
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=NO_USAGE,
        stop_reason=reason,
        timestamp=started,
        error_message=text,
        duration_ms=None if reason == "pending" else now_ms() - started,
    )
