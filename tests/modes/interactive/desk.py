"""The whole interactive mode without a terminal: a real runtime with a scripted model, on the toolkit's test driver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from textual import events
from textual.pilot import Pilot

from piolet.app.options import Fetching, OpenSession, RuntimeOptions
from piolet.app.prompt import UserPrompt
from piolet.app.runtime import Runtime
from piolet.app.trust import Ask
from piolet.llm.model import Model
from piolet.modes.interactive.face import Face
from piolet.modes.interactive.opening import Opening
from piolet.tui.keys import press
from piolet.tui.widgets.key_events import KeyEvent
from tests.support.scripted_model import MODEL, Reply, ScriptedModel

OTHER = replace(MODEL, id="scripted-2", name="Scripted two", reasoning=True)


class Desk:
    """What a test does and sees."""

    def __init__(self, face: Face, pilot: Pilot[int], model: ScriptedModel) -> None:
        self.face, self.pilot, self.model = face, pilot, model

    @property
    def runtime(self) -> Runtime:
        return self.face.runtime

    @property
    def rows(self) -> list[str]:
        """The rows of the screen."""
        return [strip.text.rstrip() for strip in self.face.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def draft(self) -> str:
        """What is in the editor."""
        return self.face.editor.buffer.value

    def key(self, *names: str) -> None:
        """Press keys, by their names in keybindings.json."""
        for name in names:
            self.face.app.post_message(KeyEvent(press(name)))

    async def taken(self) -> None:
        """Wait until the keys pressed so far have been taken."""
        done = asyncio.Event()
        self.face.app.call_later(done.set)
        await done.wait()

    def type(self, text: str) -> None:
        for char in text:
            self.key({" ": "space", "\n": "ctrl+j"}.get(char, char if not char.isupper() else f"shift+{char.lower()}"))

    async def paste(self, text: str) -> None:
        self.face.app.post_message(events.Paste(text))
        await self.pilot.pause()

    async def submit(self, text: str, key: str = "enter") -> None:
        """Type `text` and send it, with what was in the editor."""
        await self.taken()
        before = self.draft
        self.type(text)
        await self.until(lambda: self.draft == before + text)
        self.key(key)
        await self.pilot.pause()

    async def ask(self, text: str, answer: str) -> None:
        """Send a prompt and wait until the answer is on the screen and the run has settled."""
        await self.submit(text)
        await self.see(answer)
        await self.idle()

    async def idle(self) -> None:
        await self.until(
            lambda: not self.runtime.session.is_streaming and self.runtime.session.harness.operation is None
        )

    async def see(self, text: str) -> None:
        """Wait until `text` is on the screen."""
        await self.until(lambda: text in self.text, lambda: f"{text!r} is not on the screen:\n{self.text}")

    async def not_see(self, text: str) -> None:
        await self.until(lambda: text not in self.text, lambda: f"{text!r} is still on the screen:\n{self.text}")

    async def until(
        self, done: Callable[[], bool], why: Callable[[], str] = lambda: "it does not come", seconds: float = 60
    ) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(why()) from None


@asynccontextmanager
async def opened(
    folder: Path,
    *replies: Reply,
    size: tuple[int, int] = (100, 30),
    settings: Mapping[str, Any] | None = None,
    session: Path | None = None,
    model: Model | None = MODEL,
    prompts: tuple[str, ...] = (),
    trust: bool | None = True,
    ready: bool = True,
    last: Reply | None = None,
    at_home: bool = False,
    gate: asyncio.Event | None = None,
) -> AsyncIterator[Desk]:
    """Open the mode in `folder`/cwd with `folder`/home; `at_home`: in a folder of the home. `ready`: wait until it
    takes prompts. `model`: what is used; None: what is configured."""
    home = folder / "home"
    cwd = home / "work" if at_home else folder / "cwd"
    agent = home / ".pi" / "agent"
    for path in (agent, cwd):
        path.mkdir(parents=True, exist_ok=True)
    if settings is not None:
        (agent / "settings.json").write_text(json.dumps(settings))
    scripted = ScriptedModel(*replies, last=last)
    options = RuntimeOptions(cwd=cwd, agent_dir=agent, home=home, mode="interactive", trust=trust)
    if session is not None:
        options = replace(options, session=OpenSession(session))

    async def open_runtime(ask: Ask, fetching: Fetching, chosen: Path | None) -> Runtime:
        runtime = await Runtime.create(replace(options, fetching=fetching), ask=ask)
        if model is None:
            return runtime
        runtime.services.models.register_provider("test", models=[MODEL, OTHER], stream=scripted.stream)
        if runtime.session.model is None:
            await runtime.session.set_model(model.provider, model.id)
        return runtime

    face = Face(Opening(open_runtime, lambda runtime: [UserPrompt(prompt) for prompt in prompts]))
    try:
        async with face.app.run_test(size=size) as pilot:
            desk = Desk(face, pilot, scripted)
            if ready:
                await desk.until(lambda: face.started or face.failure is not None)
            yield desk
    finally:
        await face.dispose()
    if face.app.failure is not None:
        raise face.app.failure
