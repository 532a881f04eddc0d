"""The authorization code with PKCE: a page in the browser, and a code that comes back to this machine.

It comes through a listener on loopback, or the user pastes the address that the browser ended at. Source: providers,
section 11; RFC 7636 (S256), RFC 8252.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

from piolet.llm.credentials.errors import LoginError
from piolet.llm.oauth.login import LoginUI
from piolet.llm.oauth.loopback import LoopbackListener

QUESTION = "Paste the address of the page that the browser shows at the end:"


def make_pkce() -> tuple[str, str]:
    """Return a fresh verifier and its S256 challenge."""
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def with_query(url: str, parameters: dict[str, str]) -> str:
    """Return `url` with `parameters` added to its query."""
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(parameters)}"


def callback_host() -> str:
    """The host of the listener: PI_OAUTH_CALLBACK_HOST, by default 127.0.0.1."""
    return os.environ.get("PI_OAUTH_CALLBACK_HOST") or "127.0.0.1"


async def receive_code(
    ui: LoginUI,
    make_url: Callable[[str], str],
    *,
    state: str | None,
    port: int = 0,
    path: str = "/callback",
    redirect_uri: str | None = None,
) -> tuple[str, str]:
    """Send the user to `make_url(redirect URI)`; return the code that comes back and the redirect URI.

    `state` None: the path itself is the secret that tells our call from others'. `LoginError` if the user refuses, or
    if what is pasted is no answer to this login.
    """

    def accept(query: dict[str, str]) -> bool:
        ours = state is None or secrets.compare_digest(query.get("state", "").encode(), state.encode())
        return ours and ("code" in query or "error" in query)

    host = callback_host()
    async with contextlib.AsyncExitStack() as stack:
        listener: LoopbackListener | None = None
        try:
            listener = await stack.enter_async_context(LoopbackListener(host, port, path, accept))
            port = listener.port
        except OSError:
            ui.progress(f"Port {port} is taken: the answer has to be pasted.")
        redirect = redirect_uri or f"http://{host}:{port}{path}"
        ui.show_url(make_url(redirect))
        query = await _first_answer(listener, ui, path, state, accept)
    if "error" in query:
        raise LoginError(f"The login was refused: {query.get('error_description') or query['error']}")
    return query["code"], redirect


async def _first_answer(
    listener: LoopbackListener | None,
    ui: LoginUI,
    path: str,
    state: str | None,
    accept: Callable[[dict[str, str]], bool],
) -> dict[str, str]:
    async def pasted() -> dict[str, str]:
        try:
            query = parse_pasted(await ui.ask(QUESTION), path if state is None else None)
        except EOFError:
            if listener is None:
                raise LoginError("Nobody can be asked for the answer of the login") from None
            return await listener.wait()
        if not accept(query):
            raise LoginError("What was pasted is not the answer to this login: begin again")
        return query

    tasks = [asyncio.ensure_future(pasted())]
    if listener is not None:
        tasks.append(asyncio.ensure_future(listener.wait()))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def parse_pasted(text: str, path: str | None = None) -> dict[str, str]:
    """Return the query of a pasted redirect address, or of ``code#state``; empty if it is neither.

    `path`, if given, must be that of the address.
    """
    text = text.strip()
    if "://" in text:
        address = urlsplit(text)
        return dict(parse_qsl(address.query)) if path in (None, address.path) else {}
    code, hash_sign, state = text.partition("#")
    return {"code": code, "state": state} if code and hash_sign else {}
