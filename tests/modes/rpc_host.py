"""Runs RPC mode with commands of its own, as an extension would add them. For tests of dialogs and shutdown."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from piolet.app.commands import Command, ExtensionCommand, SourceInfo
from piolet.app.hook_points import (
    INPUT,
    SESSION_BEFORE_FORK,
    SESSION_BEFORE_SWITCH,
    Cancel,
    ForkDecision,
    InputEvent,
    InputResult,
)
from piolet.app.options import NewSession, RuntimeOptions
from piolet.app.runtime import Runtime
from piolet.base.abort import AbortController
from piolet.modes.rpc.mode import run_rpc

INFO = SourceInfo("host.py", "local", "temporary", "top-level")


async def main() -> int:
    home = Path.home() / ".pi" / "agent"
    options = RuntimeOptions(Path.cwd(), home, mode="rpc", session=NewSession(in_memory=True), model="stub/m1")
    runtime = await Runtime.create(options)

    async def show(args: str) -> None:
        ui = runtime.ui
        ui.notify(f"hello {args}", "warning")
        ui.notify("plain")
        ui.set_status("k", "busy")
        ui.set_status("k", None)
        ui.set_widget("w", ["l1", "l2"], placement="below_editor")
        ui.set_widget("w", None)
        ui.set_widget("w", lambda *_: None)
        ui.set_title("title")
        ui.set_editor_text("text")
        answers = [
            await ui.select("Pick", ["a", "b"]),
            await ui.confirm("Sure?", "Really"),
            await ui.input("Name", "ph"),
            await ui.editor("Edit", "pre"),
            await ui.select("Cancelled", ["x"]),
            await ui.confirm("Timeout", "m", timeout=0.3),
            await ui.input("Odd"),
        ]
        ui.notify(json.dumps(answers), "info")
        ui.notify(json.dumps(["rpc", ui.has_ui, ui.get_editor_text(), len(ui.get_all_themes())]), "info")

    async def give_up(args: str) -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.2, controller.abort)
        first = await runtime.ui.input("Waiting", signal=controller.signal)
        second = await runtime.ui.select("Too late", ["a"], signal=controller.signal)
        runtime.ui.notify(json.dumps([first, second]))

    async def fail(args: str) -> None:
        raise ValueError("this command is broken")

    async def stop(args: str) -> None:
        runtime.request_shutdown()

    for name, run in {"show": show, "give-up": give_up, "fail": fail, "stop": stop}.items():
        runtime.session.commands.add(ExtensionCommand(Command(name, f"Does {name}", "extension", INFO), run))

    def on_input(event: InputEvent) -> InputResult | None:
        if event.text == "swallow":
            return InputResult("handled")
        if event.text.startswith("shout "):
            return InputResult("transform", event.text.upper())
        return None

    runtime.hooks.on(INPUT, on_input)
    if "refuse" in sys.argv:
        runtime.hooks.on(SESSION_BEFORE_SWITCH, lambda event: Cancel())
        runtime.hooks.on(SESSION_BEFORE_FORK, lambda event: ForkDecision(cancel=True))
    return await run_rpc(runtime)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
