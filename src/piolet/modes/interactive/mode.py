"""Interactive mode: a screen on the terminal from the first moment to the last."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Sequence

from piolet.harness.session.places import SessionPlace
from piolet.modes.interactive.actions import stop
from piolet.modes.interactive.face import Face, MakePrompts, OpenRuntime
from piolet.modes.interactive.signals import ScreenSignals
from piolet.modes.interactive.streams import Streams


async def run_interactive(
    open_runtime: OpenRuntime,
    make_prompts: MakePrompts,
    *,
    choose_in: SessionPlace | None = None,
    notices: Sequence[str] = (),
    regular: bool = False,
) -> int:
    """Show the screen, open the runtime, send the prompts, and go on until the user leaves; return the exit code.

    `choose_in`: where the session to open is chosen first. `notices`: what to tell at the start. `regular`: finished
    output goes to the terminal's scrollback, in place of a screen of our own.

    Raises what `open_runtime` raises, and what nobody expected, once the terminal is restored.
    """

    def interrupt() -> None:
        if stop(face):
            face.start(settle())
        else:
            face.quit(130)

    async def settle() -> None:
        await face.runtime.session.harness.wait_idle()
        signals.again()

    with Streams(lambda text: face.presenter.warn(text)) as streams:
        face = Face(open_runtime, make_prompts, choose_in=choose_in, notices=notices, regular=regular, streams=streams)
        atexit.register(face.app.restore_terminal)
        with ScreenSignals(interrupt, face.quit, face.app.restore_terminal) as signals:
            gc.enable()
            code = await face.app.run_async(mouse=not regular)
            text = face.farewell() if not code else ""
            await face.dispose()
        atexit.unregister(face.app.restore_terminal)
    if code == 129:  # nobody is there to read what would be flushed
        os._exit(code)
    if (error := face.failure or face.app.failure) is not None:
        raise error
    streams.terminal.write(text)
    streams.terminal.flush()
    return code or 0
