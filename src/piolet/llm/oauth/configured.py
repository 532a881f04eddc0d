"""The login that a configuration describes: RFC 6749 with PKCE or a device code, and refresh tokens."""

from __future__ import annotations

import secrets
from typing import Any

from piolet.base.ids import now_ms
from piolet.llm.credentials.errors import LoginError
from piolet.llm.credentials.records import OAuthCredential
from piolet.llm.oauth.code_flow import make_pkce, receive_code, with_query
from piolet.llm.oauth.config import LoginConfig
from piolet.llm.oauth.device_flow import device_login
from piolet.llm.oauth.http import check_endpoint, post, seconds
from piolet.llm.oauth.login import LoginUI

#: Of a token whose server does not say when it expires.
NEVER = 10 * 365 * 24 * 3600.0


class ConfiguredLogin:
    """The login that a `LoginConfig` describes."""

    def __init__(self, provider: str, config: LoginConfig, proxy: str | None = None) -> None:
        self.provider = provider
        self.name = config.name or provider
        self._config = config
        self._proxy = proxy

    async def login(self, ui: LoginUI) -> OAuthCredential:
        config = self._config
        if config.authorize_url and (ui.browser or not config.device_url):
            check_endpoint(config.authorize_url)
            answer = await self._by_code(ui, config.authorize_url)
        elif config.device_url:
            answer = await device_login(
                ui, config.device_url, config.token_url, self._client(), " ".join(config.scopes), self._proxy
            )
        else:
            raise LoginError(f'The login of "{self.provider}" needs an authorizeUrl or a deviceUrl.')
        return self._credential(answer, None)

    async def renew(self, credential: OAuthCredential) -> OAuthCredential:
        if not credential.refresh:
            raise LoginError(f"The login has expired. {self._again()}")
        fields = {**self._client(), "grant_type": "refresh_token", "refresh_token": credential.refresh}
        answer = await post(self._config.token_url, fields, self._config.token_format, proxy=self._proxy)
        return self._credential(answer, credential)

    async def _by_code(self, ui: LoginUI, authorize_url: str) -> dict[str, Any]:
        config = self._config
        verifier, challenge = make_pkce()
        state = secrets.token_urlsafe(24)

        def page(redirect_uri: str) -> str:
            query = {"response_type": "code", "client_id": config.client_id, "redirect_uri": redirect_uri}
            query |= {"scope": " ".join(config.scopes)} if config.scopes else {}
            query |= {"code_challenge": challenge, "code_challenge_method": "S256", "state": state}
            return with_query(authorize_url, {**query, **config.authorize_params})

        code, redirect_uri = await receive_code(
            ui,
            page,
            state=state,
            port=config.redirect_port,
            path=config.redirect_path,
            redirect_uri=config.redirect_uri,
        )
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        fields |= (
            {"code_verifier": verifier, "state": state}
            if config.token_format == "json"
            else {"code_verifier": verifier}
        )
        return await post(config.token_url, {**self._client(), **fields}, config.token_format, proxy=self._proxy)

    def _client(self) -> dict[str, str]:
        secret = {"client_secret": self._config.client_secret} if self._config.client_secret else {}
        return {"client_id": self._config.client_id, **secret, **self._config.token_params}

    def _credential(self, answer: dict[str, Any], old: OAuthCredential | None) -> OAuthCredential:
        """What a token response means; a server that rotates no refresh token sends none."""
        access = answer.get("access_token")
        if "error" in answer or not isinstance(access, str) or not access:
            said = answer.get("error_description") or answer.get("error") or "no access token came"
            raise LoginError(f"The login server refused: {str(said)[:300]}. {self._again()}")
        refresh = answer.get("refresh_token")
        return OAuthCredential(
            access,
            refresh if isinstance(refresh, str) and refresh else (old.refresh if old else ""),
            now_ms() + int(seconds(answer.get("expires_in"), NEVER) * 1000),
            old.extra if old else {},
        )

    def _again(self) -> str:
        return f"Log in again: `piolet auth login {self.provider}`."
