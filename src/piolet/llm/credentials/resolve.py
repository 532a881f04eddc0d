"""From what is configured for a provider to what a request needs: the order of the sources of a key.

``--api-key`` > auth.json > ``apiKey`` of an extension or of models.json > environment. A stored credential owns its
provider: when it does not work out, nothing else is tried. Source: providers, section 11.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from msgspec import field

from piolet.llm.credentials.config_value import ConfigValue, NoValue, find_config_value
from piolet.llm.credentials.errors import CredentialError, MissingCredentials, UnresolvedValue
from piolet.llm.credentials.records import (
    ApiKeyCredential,
    AuthStatus,
    Credential,
    OAuthCredential,
    RequestAuth,
    Secretive,
)
from piolet.llm.credentials.store import CredentialStore, Renew
from piolet.llm.model import Model
from piolet.llm.provider_config import ProviderConfig
from piolet.llm.provider_table import BUILTIN_PROVIDERS

_placeholder = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


class ProviderAuth(Secretive, frozen=True):
    """The sources of one provider's credentials. `configs`: the strongest first. `runtime_key`: from ``--api-key``.

    `command_results`: what commands of stored keys have given. `running`: process groups of commands under way.
    """

    provider: str
    configs: Sequence[ProviderConfig]
    store: CredentialStore
    environ: Mapping[str, str]
    renew: Renew
    runtime_key: str | None = None
    command_results: dict[str, str] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)

    def status(self) -> AuthStatus:
        """Tell whether there are credentials, without running a command or the network."""
        if self.runtime_key is not None:
            return AuthStatus(self.provider, True, "--api-key")
        try:
            stored = self.store.get(self.provider)
        except CredentialError as error:
            return AuthStatus(self.provider, False, str(error))
        env = self._env(stored)
        status = self._source_status(stored, env)
        lacking = [name for name in self._needs() if not env.get(name)]
        if status.configured and lacking:
            return AuthStatus(self.provider, False, f"{status.source}, but {' and '.join(lacking)} not set")
        return status

    def _source_status(self, stored: Credential | None, env: Mapping[str, str]) -> AuthStatus:
        if isinstance(stored, OAuthCredential):
            return AuthStatus(self.provider, True, "stored login", oauth=True, expires=stored.expires)
        if stored is not None and stored.key is not None:
            return self._value_status(stored.key, env, "stored key")
        for config in self.configs:
            if config.api_key is not None:
                return self._value_status(config.api_key, env, "configuration")
        name, _ = self._from_environment(env)
        source = f"environment variable {name}" if name else self._ambient(env)
        return AuthStatus(self.provider, source is not None, source or self._ambient_lacks(env))

    def key(self) -> str | None:
        """Return the key or token; None if requests are signed otherwise. As `resolve` in all else."""
        stored = self.store.get(self.provider)
        return self._key(stored, self._env(stored))[0]

    def resolve(self, model: Model, headers: Mapping[str, str]) -> RequestAuth:
        """Return what a request to `model` needs; `headers` are the configured ones, unresolved.

        Runs commands and renews a login, so it may block for many seconds. `CredentialError` when it cannot be had.
        """
        stored = self.store.get(self.provider)
        env = self._env(stored)
        key, bearer, source = self._key(stored, env)
        resolved: dict[str, str | None] = {}
        builtin = BUILTIN_PROVIDERS.get(self.provider)
        if builtin is not None:
            resolved |= builtin.headers
            if builtin.key_header and key is not None:
                resolved |= {"authorization": None, "x-api-key": None, builtin.key_header: f"Bearer {key}"}
        if bearer:
            resolved |= {"x-api-key": None, "x-goog-api-key": None}
        if bearer or any(config.auth_header for config in self.configs):
            resolved["authorization"] = f"Bearer {key}"
        for name, text in headers.items():
            resolved[name.lower()] = self._value(text, env, f'header "{name}"')
        own_env = dict(stored.env) if isinstance(stored, ApiKeyCredential) else {}
        return RequestAuth(key, resolved, self._address(model.base_url, env), own_env, source)

    def _key(self, stored: Credential | None, env: Mapping[str, str]) -> tuple[str | None, bool, str]:
        """The key, whether it is a bearer token, and its source."""
        if self.runtime_key is not None:
            return self.runtime_key, False, "--api-key"
        if isinstance(stored, OAuthCredential):
            login = self.store.refresh(self.provider, self.renew)
            return login.access, True, "stored login"
        if isinstance(stored, ApiKeyCredential) and stored.key is not None:
            return self._value(stored.key, env, "stored key", cached=True), False, "stored key"
        for config in self.configs:
            if config.api_key is not None:
                return self._value(config.api_key, env, "API key"), False, "configuration"
        builtin = BUILTIN_PROVIDERS.get(self.provider)
        name, key = self._from_environment(env)
        if name is not None:
            return key, builtin is not None and name in builtin.bearer_env, f"environment variable {name}"
        if source := self._ambient(env):
            return None, False, source
        raise MissingCredentials(self.provider, builtin.key_env if builtin else (), self._ambient_lacks(env))

    def _value(self, text: str, env: Mapping[str, str], what: str, *, cached: bool = False) -> str:
        if cached and text in self.command_results:
            return self.command_results[text]
        try:
            found = find_config_value(text, env, self.running)
            if not found:
                raise NoValue("it is empty")
        except NoValue as reason:
            raise UnresolvedValue(f'The {what} of the provider "{self.provider}" cannot be had: {reason}.') from None
        if cached and ConfigValue(text).command is not None:
            self.command_results[text] = found
        return found

    def _value_status(self, text: str, env: Mapping[str, str], source: str) -> AuthStatus:
        value = ConfigValue(text)
        if missing := value.missing(env):
            return AuthStatus(self.provider, False, f"{source}: {missing[0]} is not set")
        what = f"{source}, by a command" if value.command is not None else source
        return AuthStatus(self.provider, bool(text), what if text else f"{source} is empty")

    def _env(self, stored: Credential | None) -> dict[str, str]:
        return {**self.environ, **(stored.env if isinstance(stored, ApiKeyCredential) else {})}

    def _needs(self) -> Sequence[str]:
        builtin = BUILTIN_PROVIDERS.get(self.provider)
        return builtin.needs if builtin and not any(config.base_url for config in self.configs) else ()

    def _from_environment(self, env: Mapping[str, str]) -> tuple[str | None, str | None]:
        builtin = BUILTIN_PROVIDERS.get(self.provider)
        for name in builtin.key_env if builtin else ():
            if env.get(name):
                return name, env[name]
        return None, None

    def _ambient(self, env: Mapping[str, str]) -> str | None:
        """Where the cloud's own credentials would come from, None if there seem to be none."""
        builtin = BUILTIN_PROVIDERS.get(self.provider)
        for names in builtin.ambient if builtin else ():
            if all(env.get(name) for name in names):
                return f"environment variable {names[0]}"
        if self._is_on_vertex(env) and os.path.exists(_google_credentials(env)):
            return "application default credentials"
        return None

    def _ambient_lacks(self, env: Mapping[str, str]) -> str:
        """What is still missing where the cloud's own credentials are wanted; empty if they are not."""
        if not self._is_on_vertex(env):
            return ""
        return (
            f"GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION are set, but {_google_credentials(env)} is missing: "
            "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to your file"
        )

    def _is_on_vertex(self, env: Mapping[str, str]) -> bool:
        project = env.get("GOOGLE_CLOUD_PROJECT") or env.get("GCLOUD_PROJECT")
        return bool(self.provider == "google-vertex" and project and env.get("GOOGLE_CLOUD_LOCATION"))

    def _address(self, base_url: str, env: Mapping[str, str]) -> str:
        def fill(match: re.Match[str]) -> str:
            if not env.get(match[1]):
                raise UnresolvedValue(f'The address of the provider "{self.provider}" needs {match[1]}: set it.')
            return env[match[1]]

        return _placeholder.sub(fill, base_url.strip())


def _google_credentials(env: Mapping[str, str]) -> str:
    """Where the application default credentials of Google are looked for."""
    default = os.path.join(env.get("HOME", ""), ".config/gcloud/application_default_credentials.json")
    return env.get("GOOGLE_APPLICATION_CREDENTIALS") or default
