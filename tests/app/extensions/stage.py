"""A runtime with extensions over a scripted model, in folders of its own."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.ui import NullUI
from piolet.app.options import NewSession, ResourceSelection, RuntimeOptions
from piolet.app.runtime import Runtime
from piolet.harness.hooks import HookFailure
from piolet.llm.messages import text_of
from tests.support.scripted_model import MODEL, Reply, ScriptedModel


class RecordingUI(NullUI):
    """Somebody is there who answers as he was told; `shown` is what he saw."""

    has_ui = True  # type: ignore[misc]

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.shown: list[tuple[Any, ...]] = []

    async def select(self, title: str, options: Sequence[str], **_: Any) -> str | None:
        self.shown.append(("select", title, *options))
        return self.answers.pop(0)  # type: ignore[no-any-return]

    async def confirm(self, title: str, message: str, **_: Any) -> bool:
        self.shown.append(("confirm", title, message))
        await asyncio.sleep(0.01)
        return self.answers.pop(0)  # type: ignore[no-any-return]

    async def input(self, title: str, placeholder: str | None = None, **_: Any) -> str | None:
        self.shown.append(("input", title))
        await asyncio.sleep(0.01)
        return self.answers.pop(0)  # type: ignore[no-any-return]

    def notify(self, message: str, type: Any = None) -> None:
        self.shown.append(("notify", message, type))

    def set_status(self, key: str, text: str | None) -> None:
        self.shown.append(("status", key, text))

    def set_widget(self, key: str, content: Any, **_: Any) -> None:
        self.shown.append(("widget", key, content))


class Stage:
    def __init__(self, runtime: Runtime, model: ScriptedModel, ui: RecordingUI) -> None:
        self.runtime = runtime
        self.model = model
        self.ui = ui
        self.failures: list[HookFailure] = []
        self.events: list[Any] = []
        runtime.on_failure = self.failures.append
        runtime.bind(ui)
        runtime.subscribe(self.events.append)

    @property
    def faults(self) -> list[tuple[str, str, str]]:
        """Failures as file name, event and text."""
        return [(Path(str(f.owner)).name, f.hook, str(f.error)) for f in self.failures]

    async def prompt(self, text: str, **more: Any) -> None:
        """Send a prompt and wait until nothing is under way."""
        await self.runtime.session.prompt(text, **more)
        await self.runtime.wait_idle()

    def stored(self) -> list[str]:
        """What the model would see, as ``role: text``."""
        messages = self.runtime.session.session.build_context().messages
        return [f"{message.role}: {text_of(message.content)}" for message in messages]  # type: ignore[union-attr]

    def custom_entries(self, kind: str) -> list[Any]:
        """The data of the custom entries of a type."""
        entries = self.runtime.session.session.entries
        return [entry.data for entry in entries if entry.type == "custom" and entry.custom_type == kind]  # type: ignore[union-attr]


def write(path: Path, code: str) -> Path:
    """Write an extension."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


@asynccontextmanager
async def stage(
    folder: Path,
    *replies: Reply,
    factories: Sequence[Callable[[ExtensionAPI], Any]] = (),
    paths: Sequence[Path] = (),
    answers: Sequence[Any] = (),
    started: bool = True,
    **options: Any,
) -> AsyncIterator[Stage]:
    """Open a session in `folder`/work with the extensions of `folder`/home, `paths` and `factories`."""
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    model = ScriptedModel(*replies)

    def provider(pi: ExtensionAPI) -> None:
        pi.register_provider("test", models=[MODEL], stream=model)

    given: dict[str, Any] = {
        "cwd": folder / "work",
        "agent_dir": folder / "home" / ".pi" / "agent",
        "home": folder / "home",
        "session": NewSession(in_memory=True),
        "model": "test/scripted-1",
        "extension_factories": [provider, *factories],
        "extensions": ResourceSelection([str(path) for path in paths]),
        "offline": True,
    }
    runtime = await Runtime.create(RuntimeOptions(**{**given, **options}))
    try:
        made = Stage(runtime, model, RecordingUI(*answers))
        if started:
            await runtime.start()
        yield made
    finally:
        await runtime.dispose()
