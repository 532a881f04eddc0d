"""The device code: the user types a short code on a page, and we ask until it is granted. Source: RFC 8628."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from piolet.llm.credentials.errors import LoginError
from piolet.llm.oauth.http import post, seconds
from piolet.llm.oauth.login import LoginUI

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
DEFAULT_INTERVAL = 5.0
SLOW_DOWN = 5.0


async def device_login(
    ui: LoginUI, device_url: str, token_url: str, fields: dict[str, str], scope: str, proxy: str | None = None
) -> dict[str, Any]:
    """Return the token server's answer once the user has agreed. `fields`: client id and what else each request has."""
    asked = await post(device_url, {**fields, "scope": scope} if scope else fields, proxy=proxy)
    try:
        code, user_code = str(asked["device_code"]), str(asked["user_code"])
        page = str(asked.get("verification_uri_complete") or asked["verification_uri"])
    except KeyError:
        raise LoginError(f"The login server gave no device code: {_said(asked)}") from None
    interval = seconds(asked.get("interval"), DEFAULT_INTERVAL)
    deadline = time.monotonic() + seconds(asked.get("expires_in"), 900)
    ui.show_code(user_code, page)
    while time.monotonic() + interval < deadline:
        await asyncio.sleep(interval)
        answer = await post(token_url, {**fields, "grant_type": GRANT, "device_code": code}, proxy=proxy)
        match answer.get("error"):
            case None:
                return answer
            case "authorization_pending":
                pass
            case "slow_down":
                interval = seconds(answer.get("interval"), interval + SLOW_DOWN)
            case "access_denied":
                raise LoginError("The login was refused.")
            case "expired_token":
                break
            case _:
                raise LoginError(f"The login failed: {_said(answer)}")
    raise LoginError("The code has expired: begin again.")


def _said(answer: dict[str, Any]) -> str:
    return str(answer.get("error_description") or answer.get("error") or "no reason given")[:300]
