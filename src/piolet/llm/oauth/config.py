"""A login as data: addresses and a client id that the user or an extension gives."""

from typing import Literal

from msgspec import Struct


class LoginConfig(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A login by code and PKCE (`authorize_url`), or by device code (`device_url`), or by either.

    `redirect_port` 0 takes any port; `redirect_uri`, if given, is sent in place of the listener's own address.
    `authorize_params` and `token_params` are added to the requests.
    """

    client_id: str
    token_url: str
    authorize_url: str | None = None
    device_url: str | None = None
    name: str | None = None
    client_secret: str | None = None
    scopes: list[str] = []
    redirect_port: int = 0
    redirect_path: str = "/callback"
    redirect_uri: str | None = None
    token_format: Literal["form", "json"] = "form"
    authorize_params: dict[str, str] = {}
    token_params: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"LoginConfig(token_url={self.token_url!r})"
