"""The two kinds of stored credential, and what a request gets out of any of them. None of them shows a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from piolet.base.ids import now_ms

#: A login is renewed when less than this is left of it.
REFRESH_MARGIN_MS = 5 * 60 * 1000


class Secretive(Struct, frozen=True):
    """A record whose fields are nobody's business: its text form has none."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class ApiKeyCredential(Secretive, frozen=True):
    """A key, as a configuration value, and variables for this provider alone. `extra`: fields we do not know."""

    key: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"type": "api_key"}
        if self.key is not None:
            fields["key"] = self.key
        if self.env:
            fields["env"] = dict(self.env)
        return fields | dict(self.extra)


class OAuthCredential(Secretive, frozen=True):
    """A login. `expires`: Unix milliseconds. `extra`: fields that the provider or another program added."""

    access: str
    refresh: str
    expires: int
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        own = {"type": "oauth", "access": self.access, "refresh": self.refresh, "expires": self.expires}
        return own | dict(self.extra)

    def expires_within(self, ms: int) -> bool:
        """Whether less than `ms` milliseconds are left."""
        return self.expires - now_ms() < ms


Credential: TypeAlias = ApiKeyCredential | OAuthCredential


def credential_from_json(value: Any) -> Credential:
    """Return the record of an entry of auth.json; ValueError (without the value in its text) if it is none."""
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "api_key":
        key, env = value.get("key"), value.get("env", {})
        if not isinstance(key, str | None):
            raise ValueError('"key" must be a string')
        if not isinstance(env, dict) or not all(isinstance(text, str) for text in env.values()):
            raise ValueError('"env" must be an object of strings')
        return ApiKeyCredential(key, env, _without(value, "type", "key", "env"))
    if kind == "oauth":
        access, refresh, expires = (value.get(name) for name in ("access", "refresh", "expires"))
        if not (isinstance(access, str) and isinstance(refresh, str) and isinstance(expires, int | float)):
            raise ValueError('a login needs the strings "access" and "refresh" and the number "expires"')
        return OAuthCredential(access, refresh, int(expires), _without(value, "type", "access", "refresh", "expires"))
    raise ValueError('"type" must be "api_key" or "oauth"')


def _without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


class RequestAuth(Secretive, frozen=True):
    """What a request to one model needs beyond the model: all of it resolved.

    `headers`: None as value removes a default header. `env`: variables for this provider. `source` says in words where
    the key came from.
    """

    api_key: str | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    base_url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


class AuthStatus(Struct, frozen=True):
    """Whether and from where a provider has credentials. `expires`: Unix milliseconds, of a login."""

    provider: str
    configured: bool
    source: str = ""
    oauth: bool = False
    expires: int | None = None
