"""The two roles of a login: the provider's side (`Login`), and who shows it to the user (`LoginUI`)."""

from __future__ import annotations

from typing import Protocol

from piolet.llm.credentials.records import Credential, OAuthCredential


class LoginUI(Protocol):
    """Shows a login to the user. To give up, cancel the task that runs the login.

    `browser`: whether a page can be opened on this machine; if not, a login without one (device code) is better.
    """

    browser: bool

    def show_url(self, url: str) -> None:
        """Tell the user to open `url`; open it if `piolet.llm.oauth.browser.may_open_url` allows."""

    def show_code(self, code: str, url: str) -> None:
        """Tell the user to open `url` and to type `code` there."""

    def progress(self, text: str) -> None: ...

    async def ask(self, question: str) -> str:
        """Return what the user types. Cancelled when the answer came another way; EOFError if nobody can be asked."""


class Login(Protocol):
    """How to log in to one provider, and how to go on being logged in."""

    name: str

    async def login(self, ui: LoginUI) -> Credential:
        """Return a new credential; `LoginError` if it did not come to one."""

    async def renew(self, credential: OAuthCredential) -> OAuthCredential:
        """Return what replaces `credential`; `LoginError` if the user has to log in again.

        Called in a thread with an event loop of its own.
        """
