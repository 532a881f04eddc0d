"""``/login`` and ``/logout``: credentials of model providers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from piolet.app.model_choice import start_level
from piolet.llm.credentials.errors import UnknownProvider
from piolet.llm.credentials.records import ApiKeyCredential
from piolet.llm.errors import LlmError
from piolet.llm.oauth.browser import may_open_url, open_url
from piolet.modes.interactive.commands.thinking import level_words
from piolet.modes.interactive.login_panel import LoginPanel
from piolet.tui.completion import Suggestion
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

How: TypeAlias = Literal["account", "key"]


async def login(face: Face, rest: str) -> None:
    """``/login [PROVIDER]``: sign in with an account, or store a key."""
    chosen = _named(face, rest) if rest else await _choose(face)
    if chosen is None:
        return
    how, provider = chosen
    done = await (_sign_in(face, provider) if how == "account" else _store_key(face, provider))
    if done:
        await _begin_to_use(face, provider)


def _named(face: Face, provider: str) -> tuple[How, str] | None:
    """Return how to log in to `provider`; None, which is told, if there is none of that name."""
    models = face.runtime.services.models
    if models.get_provider(provider) is None:
        face.presenter.error(str(UnknownProvider(provider, models.providers())))
        return None
    return "account" if models.login(provider) else "key", provider


async def _choose(face: Face) -> tuple[How, str] | None:
    """Let the user choose how to log in, and where; dismissing the second question leads back to the first."""
    models = face.runtime.services.models
    ways: Sequence[Item[How]] = [Item("account", "Sign in with an account"), Item("key", "Sign in with an API key")]
    while (how := await face.dialogs.choose("Log in", ways)) is not None:
        names = models.providers() if how == "key" else [name for name in models.providers() if models.login(name)]
        if not names:
            face.presenter.status("No provider here has a login with an account; choose the API key")
            continue
        provider = await face.dialogs.choose("Provider", [_item(face, name) for name in names], search=True)
        if provider is not None:
            return how, provider
    return None


async def complete_provider(face: Face, prefix: str) -> Sequence[Suggestion]:
    """Complete the id of a provider."""
    names = [name for name in face.runtime.services.models.providers() if name.startswith(prefix)]
    return [Suggestion(name, name, _item(face, name).description) for name in names]


async def logout(face: Face, rest: str) -> None:
    """``/logout``: remove what is stored; variables and models.json stay."""
    credentials = face.runtime.services.models.credentials
    names = credentials.providers()
    if not names:
        face.presenter.status("No credentials are stored")
        return
    provider = rest or await face.dialogs.choose("Log out of", [_item(face, name) for name in names], search=True)
    if provider is None:
        return
    removed = await asyncio.to_thread(credentials.remove, provider)
    said = "Removed the stored credentials" if removed else "There are no stored credentials"
    session = face.runtime.session
    model = session.model
    if model is not None and not face.runtime.services.models.has_configured_auth(model) and not session.is_streaming:
        session.drop_model()
        said = f"{model.key} can be used no longer. {said}"
    face.presenter.status(f"{said} for {provider}")
    face.refresh()


def _item(face: Face, name: str) -> Item[str]:
    models = face.runtime.services.models
    status = models.auth_status(name)
    provider = models.get_provider(name)
    state = f"✓ {status.source}" if status.configured else "• not configured"
    return Item(name, provider.name if provider else name, state)


async def _store_key(face: Face, provider: str) -> bool:
    key = await face.dialogs.line(f"API key for {provider}", masked=True, hints=["It is stored in auth.json"])
    if key is None or not key.strip():
        return False
    credentials = face.runtime.services.models.credentials
    await asyncio.to_thread(credentials.set, provider, ApiKeyCredential(key.strip()))
    face.presenter.status(f"Stored the key for {provider}")
    return True


async def _sign_in(face: Face, provider: str) -> bool:
    """Run the provider's login; closing its panel gives it up."""
    models = face.runtime.services.models
    work: asyncio.Task[None] | None = None

    def panel(done: Callable[[bool | None], None]) -> LoginPanel:
        nonlocal work
        shown = LoginPanel(
            f"Log in to {provider}",
            lambda: done(None),
            copy=lambda text: face.start(face.copy(text)),
            changed=face.app.redraw_panel,
            keymap=face.keymap,
        )
        work = asyncio.create_task(models.log_in(provider, _ScreenLogin(shown)))
        work.add_done_callback(lambda task: done(not task.cancelled()))
        return shown

    try:
        await face.ask(panel)
        assert work is not None
        if not work.done():
            face.presenter.status("Login cancelled")
            return False
        work.result()
    except LlmError as error:
        face.presenter.error(str(error))
        return False
    finally:
        if work is not None:
            work.cancel()
    face.presenter.status(f"Logged in to {provider}")
    return True


class _ScreenLogin:
    """Shows a login in a panel."""

    browser = True

    def __init__(self, panel: LoginPanel) -> None:
        self._panel = panel

    def show_url(self, url: str) -> None:
        if may_open_url(url):
            self._panel.show_url(url, opened=open_url(url))
        else:
            self._panel.say("The login sends to an address that is not opened")

    def show_code(self, code: str, url: str) -> None:
        self.show_url(url)
        self._panel.show_code(code)

    def progress(self, text: str) -> None:
        self._panel.say(text)

    async def ask(self, question: str) -> str:
        return await self._panel.question(question)


async def _begin_to_use(face: Face, provider: str) -> None:
    """Select the provider's default model if none was selected."""
    session = face.runtime.session
    if session.model is not None:
        return
    found = face.runtime.services.models.get_provider(provider)
    if found is not None and found.models:
        chosen = next((model for model in found.models if model.id == found.default_model), found.models[0])
        await session.set_model(chosen.provider, chosen.id)
        await session.harness.set_thinking_level(start_level(face.runtime.services.settings, chosen))
        face.presenter.status(f"Model: {chosen.id}{level_words(face)}")
