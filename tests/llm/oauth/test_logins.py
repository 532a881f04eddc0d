"""Logging in: by code with PKCE, by device code, at OpenRouter; against an OAuth server on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from piolet.base.ids import now_ms
from piolet.llm.credentials.errors import LoginError
from piolet.llm.credentials.records import ApiKeyCredential, OAuthCredential
from piolet.llm.model import Context
from piolet.llm.models import Models
from piolet.llm.oauth.browser import may_open_url
from piolet.llm.oauth.code_flow import parse_pasted
from piolet.llm.oauth.config import LoginConfig
from piolet.llm.oauth.configured import ConfiguredLogin
from piolet.llm.oauth.login import LoginUI
from piolet.llm.oauth.openrouter import OpenRouterLogin
from tests.support.config_values import resolved
from tests.support.oauth_server import OAuthServer
from tests.support.server import Reply, Request, ScriptedServer

Browser = Callable[[str], object]


class FakeUser:
    """Shows a login to nobody: `browser` gets each page, `typed` is what is pasted, None for nothing ever."""

    def __init__(self, browser: Browser = lambda page: None, typed: Callable[[str], str] | None = None) -> None:
        self.pages: list[str] = []
        self.codes: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.browser = True
        self._open = browser
        self._typed = typed

    def show_url(self, url: str) -> None:
        self.pages.append(url)
        asyncio.get_running_loop().run_in_executor(None, self._open, url)

    def show_code(self, code: str, url: str) -> None:
        self.codes.append((code, url))

    def progress(self, text: str) -> None:
        self.said.append(text)

    async def ask(self, question: str) -> str:
        while self._typed is None or not self.pages:
            await asyncio.sleep(0.01)
        return self._typed(self.pages[-1])


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with OAuthServer().running() as running:
        yield running


def get(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def by_code(server: OAuthServer, **changes: Any) -> ConfiguredLogin:
    addresses: dict[str, Any] = {"token_url": f"{server.url}/token", "authorize_url": f"{server.url}/authorize?x=1"}
    return ConfiguredLogin("acme", LoginConfig(**{"client_id": "mine", "scopes": ["a", "b"], **addresses, **changes}))


def by_device(server: OAuthServer) -> ConfiguredLogin:
    return by_code(server, authorize_url=None, device_url=f"{server.url}/device")


# ------------------------------------------------------------------------------------------------------ by code


@pytest.mark.parametrize("form", ["form", "json"])
async def test_the_browser_brings_the_code_back(server: OAuthServer, form: str) -> None:
    user = FakeUser(lambda page: get(server.authorize(page)))
    credential = await by_code(server, token_format=form).login(user)
    assert (credential.access, credential.refresh) == ("access-0", "refresh-0")
    assert 3_500_000 < credential.expires - now_ms() <= 3_600_000
    assert "scope=a+b" in user.pages[0]
    assert "client_id=mine" in user.pages[0]


@pytest.mark.parametrize("join", ["{url}", " {code}#{state}\n"])
async def test_the_answer_can_be_pasted(server: OAuthServer, join: str) -> None:
    def typed(page: str) -> str:
        url = server.authorize(page)
        query = parse_pasted(url)
        return join.format(url=url, **query)

    assert (await by_code(server).login(FakeUser(typed=typed))).access == "access-0"


async def test_a_taken_port_leaves_the_pasting(server: OAuthServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        user = FakeUser(typed=server.authorize)
        credential = await by_code(server, redirect_port=taken.getsockname()[1]).login(user)
    assert credential.access == "access-0"
    assert "is taken" in user.said[0]


async def test_an_answer_to_another_login_is_refused_and_the_listener_goes_on(server: OAuthServer) -> None:
    statuses = []

    def browser(page: str) -> None:
        right = server.authorize(page)
        wrong = right.partition("&state=")[0]
        statuses.extend(
            get(url) for url in (f"{wrong}&state=wrong", wrong, right.replace("/callback", "/other"), right)
        )

    assert (await by_code(server).login(FakeUser(browser))).access == "access-0"
    assert statuses == [400, 400, 404, 200]


@pytest.mark.parametrize("typed", ["https://x.example/?code=a&state=wrong", "code-0#wrong", "code-0", ""])
async def test_a_pasted_answer_with_another_state_is_refused(server: OAuthServer, typed: str) -> None:
    with pytest.raises(LoginError, match="not the answer to this login"):
        await by_code(server).login(FakeUser(typed=lambda page: typed))


async def test_a_refusal_in_the_browser_ends_the_login(server: OAuthServer) -> None:
    def browser(page: str) -> None:
        redirect, _, state = server.authorize(page).partition("?code=code-0")
        get(f"{redirect}?error=access_denied&error_description=no%20thanks{state}")

    with pytest.raises(LoginError, match="no thanks"):
        await by_code(server).login(FakeUser(browser))


async def test_a_silent_connection_does_not_hold_the_login_up(server: OAuthServer) -> None:
    def browser(page: str) -> None:
        url = server.authorize(page)
        port = int(url.split(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port)):
            get(url)
            assert over.wait(30)

    over = threading.Event()
    try:
        assert (await by_code(server).login(FakeUser(browser))).access == "access-0"
    finally:
        over.set()


async def test_a_login_that_is_given_up_leaves_nothing(server: OAuthServer) -> None:
    user = FakeUser()
    task = asyncio.ensure_future(by_code(server).login(user))
    while not user.pages:
        await asyncio.sleep(0.01)
    port = int(user.pages[0].partition("127.0.0.1%3A")[2].partition("%2F")[0])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


# ------------------------------------------------------------------------------------------------ by device code


async def test_a_device_code_is_asked_for_until_it_is_granted(server: OAuthServer) -> None:
    server.pending_polls, server.slow_downs = 2, 1
    user = FakeUser()
    assert (await by_device(server).login(user)).access == "access-0"
    assert user.codes == [("ABCD-1234", f"{server.url}/activate")]
    assert len([path for path, _ in server.requests if path == "/token"]) == 4


@pytest.mark.parametrize(
    ("error", "said"), [("access_denied", "refused"), ("expired_token", "expired"), ("odd", "failed: odd")]
)
async def test_a_device_code_that_is_not_granted_says_why(server: OAuthServer, error: str, said: str) -> None:
    server.device_error = error
    with pytest.raises(LoginError, match=said):
        await by_device(server).login(FakeUser())


async def test_without_a_browser_the_device_code_is_preferred(server: OAuthServer) -> None:
    both = by_code(server, device_url=f"{server.url}/device")
    user = FakeUser()
    user.browser = False
    assert (await both.login(user)).access == "access-0"
    assert user.codes


# ----------------------------------------------------------------------------------------------------- renewing


async def test_a_renewal_keeps_what_the_server_does_not_send(server: OAuthServer) -> None:
    server.expires_in = None
    login = by_code(server)
    first = await login.login(FakeUser(lambda page: get(server.authorize(page))))
    renewed = await login.renew(first)
    assert (renewed.access, renewed.refresh) == ("access-1", "refresh-1")
    assert renewed.expires > now_ms() + 365 * 24 * 3600 * 1000


async def test_a_spent_refresh_token_asks_to_log_in_again(server: OAuthServer) -> None:
    login = by_code(server)
    first = await login.login(FakeUser(lambda page: get(server.authorize(page))))
    await login.renew(first)
    with pytest.raises(LoginError, match=r"spent.*piolet auth login acme") as caught:
        await login.renew(first)
    assert "refresh-0" not in str(caught.value)


async def test_an_error_does_not_repeat_the_secrets_that_the_server_was_sent() -> None:
    def refusing(request: Request) -> Reply:
        return {
            "status": 400,
            "json": {"error": "invalid_grant", "error_description": f"no: {request.content.decode()}"},
        }

    with ScriptedServer(refusing) as server:
        login = ConfiguredLogin("acme", LoginConfig(client_id="mine", token_url=f"{server.url}/token"))
        with pytest.raises(LoginError, match=r"refused: no: .*refresh_token=\*\*\*") as caught:
            await login.renew(OAuthCredential("old", "refresh/secret", 1))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("told", ["soon", None, [], 1e300, 0, "3600"])
async def test_a_new_token_is_kept_whatever_is_said_of_its_life(told: Any) -> None:
    answer = {"access_token": "new", "refresh_token": "next", "expires_in": told}
    with ScriptedServer([{"json": answer}]) as server:
        login = ConfiguredLogin("acme", LoginConfig(client_id="mine", token_url=f"{server.url}/token"))
        renewed = await login.renew(OAuthCredential("old", "refresh-0", 1))
    assert (renewed.access, renewed.refresh) == ("new", "next")
    assert 3_000_000 < renewed.expires - now_ms() < 4e11


async def test_a_server_that_is_down_does_not_ask_to_log_in_again(server: OAuthServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    login = by_code(server, token_url=f"http://127.0.0.1:{port}/token")
    with pytest.raises(LoginError, match="Connection error") as caught:
        await login.renew(await by_code(server).login(FakeUser(lambda page: get(server.authorize(page)))))
    assert "log in" not in str(caught.value).lower()


@pytest.mark.parametrize("url", ["http://evil.example/token", "ftp://x/token", "file:///token"])
async def test_secrets_are_not_sent_without_encryption(server: OAuthServer, url: str) -> None:
    login = by_code(server, token_url=url)
    with pytest.raises(LoginError, match="https://"):
        await login.login(FakeUser(lambda page: get(server.authorize(page))))


# --------------------------------------------------------------------------------------------------- OpenRouter


async def test_openrouter_gives_a_key_that_is_stored_as_one(server: OAuthServer) -> None:
    user = FakeUser(lambda page: get(server.authorize(page)))
    credential = await OpenRouterLogin(server.url).login(user)
    assert isinstance(credential, ApiKeyCredential)
    assert resolved(str(credential.key), {}) == "sk-or-$granted"


async def test_openrouter_answers_come_only_to_the_path_of_this_login(server: OAuthServer) -> None:
    def typed(page: str) -> str:
        return "http://127.0.0.1:1/guessed?code=code-0"

    with pytest.raises(LoginError, match="not the answer to this login"):
        await OpenRouterLogin(server.url).login(FakeUser(typed=typed))


# ------------------------------------------------------------------------------------------------- which logins


async def test_a_login_is_built_in_configured_or_registered(server: OAuthServer) -> None:
    models = Models(environ={})
    assert models.login("openrouter")
    assert models.login("anthropic") is None
    fields = {"clientId": "mine", "tokenUrl": f"{server.url}/token", "authorizeUrl": f"{server.url}/authorize"}
    models.register_provider("acme", {"login": fields})
    await models.log_in("acme", FakeUser(lambda page: get(server.authorize(page))))
    assert models.is_using_oauth("acme")
    with pytest.raises(LoginError, match="no login for"):
        await models.log_in("anthropic", FakeUser())


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://x.example/a?b=c&d=%20#e", True),
        ("HTTP://127.0.0.1:8/cb", True),
        ("https://[::1]:80/x", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("-h", False),
        ("https://x.example/a\x1b]0;x", False),
        ("https://x.example/a\x9b31m", False),
        ("https://x.example/a b", False),
        ("https://x.example/a\n", False),
        ("https://", False),
        ("vscode://x", False),
        (" https://x.example", False),
    ],
)
def test_only_web_addresses_are_opened(url: str, allowed: bool) -> None:
    assert may_open_url(url) is allowed


async def test_a_registered_login_that_fails_in_its_own_way_is_an_error_of_the_login() -> None:
    class Broken:
        name = "Broken"

        async def login(self, ui: LoginUI) -> OAuthCredential:
            return OAuthCredential("a", "r", 1)

        async def renew(self, credential: OAuthCredential) -> OAuthCredential:
            raise KeyError(credential.refresh)

    models = Models(environ={})
    custom = {"baseUrl": "http://x", "api": "openai-completions", "models": [{"id": "m"}]}
    models.register_provider("acme", custom, login=Broken())
    await models.log_in("acme", FakeUser())
    message = await models.complete(models.provider_models("acme")[0], Context([]))
    assert message.error_message == 'The login for "acme" could not be renewed: KeyError'
