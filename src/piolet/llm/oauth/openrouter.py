"""The login of OpenRouter, which is open to any client: the user consents to a key, which does not expire.

Source: providers, section 11. There is no client id and no state: the random path of the redirect is the secret.
"""

from __future__ import annotations

import secrets

from piolet.llm.credentials.config_value import escape
from piolet.llm.credentials.errors import LoginError
from piolet.llm.credentials.records import ApiKeyCredential, OAuthCredential
from piolet.llm.oauth.code_flow import make_pkce, receive_code, with_query
from piolet.llm.oauth.http import post
from piolet.llm.oauth.login import LoginUI


class OpenRouterLogin:
    """`site`: where OpenRouter is."""

    name = "OpenRouter"

    def __init__(self, site: str = "https://openrouter.ai", *, proxy: str | None = None) -> None:
        self._site = site
        self._proxy = proxy

    async def login(self, ui: LoginUI) -> ApiKeyCredential:
        verifier, challenge = make_pkce()

        def page(redirect_uri: str) -> str:
            challenged = {"code_challenge": challenge, "code_challenge_method": "S256"}
            return with_query(f"{self._site}/auth", {"callback_url": redirect_uri, **challenged})

        code, _ = await receive_code(ui, page, state=None, path=f"/{secrets.token_urlsafe(16)}")
        fields = {"code": code, "code_verifier": verifier, "code_challenge_method": "S256"}
        answer = await post(f"{self._site}/api/v1/auth/keys", fields, "json", proxy=self._proxy)
        key = answer.get("key")
        if not isinstance(key, str) or not key:
            raise LoginError("OpenRouter gave no key: begin again")
        return ApiKeyCredential(escape(key))

    async def renew(self, credential: OAuthCredential) -> OAuthCredential:
        return credential  # stored by another program; the key does not expire
