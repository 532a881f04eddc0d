"""An OAuth server on loopback: checks PKCE, grants device codes, and takes each refresh token once."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.server import Reply, Request, ScriptedServer


class OAuthServer:
    """`url`: its address. `authorize` plays the user and the browser. `refreshes` counts renewals, spent ones too."""

    def __init__(self) -> None:
        self.expires_in: int | None = 3600
        self.delay = 0.0
        self.refreshes = 0
        self.refused_refreshes = 0
        self.pending_polls = 0
        self.slow_downs = 0
        self.device_error: str | None = None
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.valid_refresh = "refresh-0"
        self._codes: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()
        self._http = ScriptedServer(self._answer)

    @property
    def url(self) -> str:
        return self._http.url

    @contextmanager
    def running(self) -> Iterator[OAuthServer]:
        with self._http:
            yield self

    def authorize(self, page: str) -> str:
        """Return the address to which a browser that opened `page` is sent after the user's consent."""
        query = dict(parse_qsl(urlsplit(page).query))
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        state = f"&state={query['state']}" if "state" in query else ""
        return f"{query.get('redirect_uri') or query['callback_url']}?code={code}{state}"

    def _answer(self, request: Request) -> Reply:
        fields = _fields(request)
        with self._lock:
            self.requests.append((request.path, fields))
        status, answer = {
            "/token": self._token,
            "/device": self._device,
            "/api/v1/auth/keys": self._key,
        }[request.path](fields)
        return {"status": status, "json": answer, "delay_ms": int(self.delay * 1000)}

    def _token(self, fields: dict[str, str]) -> tuple[int, Any]:
        with self._lock:
            match fields["grant_type"]:
                case "authorization_code":
                    if not self._proves(fields) or fields["redirect_uri"] != self._asked(fields)["redirect_uri"]:
                        return 400, {"error": "invalid_grant", "error_description": "wrong verifier or redirect"}
                    return 200, self._tokens(0)
                case "refresh_token":
                    if fields["refresh_token"] != self.valid_refresh:
                        self.refused_refreshes += 1
                        return 400, {"error": "invalid_grant", "error_description": "refresh token is spent"}
                    self.refreshes += 1
                    return 200, self._tokens(self.refreshes)
                case _:
                    return self._poll()

    def _poll(self) -> tuple[int, Any]:
        if self.device_error:
            return 400, {"error": self.device_error}
        if self.slow_downs > 0:
            self.slow_downs -= 1
            return 400, {"error": "slow_down", "interval": 0.02}
        if self.pending_polls > 0:
            self.pending_polls -= 1
            return 400, {"error": "authorization_pending"}
        return 200, self._tokens(0)

    def _tokens(self, number: int) -> dict[str, Any]:
        self.valid_refresh = f"refresh-{number}"
        tokens = {"access_token": f"access-{number}", "refresh_token": self.valid_refresh, "token_type": "Bearer"}
        return tokens if self.expires_in is None else {**tokens, "expires_in": self.expires_in}

    def _device(self, fields: dict[str, str]) -> tuple[int, Any]:
        codes = {"device_code": "secret-device-code", "user_code": "ABCD-1234", "expires_in": 60, "interval": 0.01}
        return 200, {**codes, "verification_uri": f"{self.url}/activate"}

    def _key(self, fields: dict[str, str]) -> tuple[int, Any]:
        return (200, {"key": "sk-or-$granted"}) if self._proves(fields) else (403, {"error": {"message": "no"}})

    def _asked(self, fields: Mapping[str, str]) -> Mapping[str, str]:
        return self._codes[fields["code"]]

    def _proves(self, fields: Mapping[str, str]) -> bool:
        digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        asked = self._codes.get(fields["code"], {})
        return asked.get("code_challenge") == challenge and asked.get("code_challenge_method") == "S256"


def _fields(request: Request) -> dict[str, str]:
    if "json" in request.headers.get("content-type", ""):
        return {name: str(value) for name, value in request.body.items()}
    return dict(parse_qsl(request.content.decode()))
