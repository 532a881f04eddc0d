"""From the first frame to the first prompt: choose a session, open the runtime, show what is open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from piolet.app.options import Fetching
from piolet.app.prompt import UserPrompt
from piolet.app.runtime import Runtime
from piolet.app.trust import Ask
from piolet.harness.session.places import SessionPlace
from piolet.modes.interactive.commands.resume import choose_session
from piolet.modes.interactive.commands.trust import ask_trust
from piolet.modes.interactive.local_servers import offer_local_servers
from piolet.modes.interactive.screen_ui import ScreenUI
from piolet.modes.interactive.whats_new import news

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


class Opening(Struct, frozen=True):
    """What to open.

    `runtime` gets what asks whether a project is trusted, what shows that packages are fetched, and the session that
    was chosen on the screen; `prompts` are sent then. `choose_in`: where a session is chosen first. `notices`: what to
    tell at the start. `regular`: finished output goes to the terminal's scrollback, in place of a screen of our own.
    `theme`: the theme of this run, or a pair, in place of the one in the settings.
    """

    runtime: Callable[[Ask, Fetching, Path | None], Awaitable[Runtime]]
    prompts: Callable[[Runtime], Sequence[UserPrompt]]
    choose_in: SessionPlace | None = None
    notices: Sequence[str] = ()
    regular: bool = False
    theme: str | None = None


async def open_on_screen(face: Face, opening: Opening) -> None:
    """Open what `opening` says and send its prompts, one after the other. A failure ends the app."""
    chosen: Path | None = None
    if opening.choose_in is not None:
        info = await choose_session(face, opening.choose_in)
        if info is None:
            face.quit()
            return
        chosen = Path(info.path)
    try:
        runtime = await opening.runtime(partial(ask_trust, face), partial(_fetching, face), chosen)
    except Exception as error:
        face.failure = error
        face.quit(1)
        return
    face.adopt(runtime)
    runtime.bind(ScreenUI(face))
    await face.opened.begin(opening.notices)
    if text := news(runtime.services):
        face.presenter.markdown(text)
    if runtime.session.model is None:
        await offer_local_servers(face)
    elif scope := runtime.session.scope:
        names = ", ".join(scoped.model.id for scoped in scope)
        face.presenter.status(f"Model scope: {names} ({face.keymap.label('app.model.cycleForward')} changes)")
    if os.environ.get("TMUX"):
        face.start(_tell_of_tmux(face))
    await runtime.start()
    face.started = True
    if os.environ.get("PI_STARTUP_BENCHMARK"):
        face.quit()
    for prompt in opening.prompts(runtime):
        await face.submission.send(prompt)


def _fetching(face: Face, source: str) -> AbstractContextManager[object]:
    face.presenter.status(f"Fetching {source}...")  # it gives way to what is opened then
    return nullcontext()


async def _tell_of_tmux(face: Face) -> None:
    """Say how to make tmux pass on keys such as Shift+Enter, if it does not."""
    quiet = asyncio.subprocess.DEVNULL
    command = ("tmux", "show-options", "-gqv", "extended-keys")
    process = await asyncio.create_subprocess_exec(*command, stdin=quiet, stdout=asyncio.subprocess.PIPE, stderr=quiet)
    answer, _ = await process.communicate()
    if answer.strip() == b"off":
        face.presenter.warn("tmux passes on keys such as shift+enter only with: set -g extended-keys on")
