"""Interactive mode: a screen on the terminal from the first moment to the last."""

from __future__ import annotations

import atexit
import gc
import os

from piolet.harness.environments.processes import kill_all_process_groups
from piolet.modes.interactive.actions import stop
from piolet.modes.interactive.face import Face
from piolet.modes.interactive.opening import Opening
from piolet.modes.interactive.signals import ScreenSignals
from piolet.modes.interactive.streams import Streams


async def run_interactive(opening: Opening) -> int:
    """Show the screen, open the runtime, send the prompts, and go on until the user leaves; return the exit code.

    Raises what opening the runtime raises, and what nobody expected, once the terminal is restored.
    """
    if not os.environ.get("NO_COLOR", "-"):
        del os.environ["NO_COLOR"]  # an empty one means nothing, but not to the toolkit

    def interrupt() -> None:
        if stop(face):
            face.start(settle())
        else:
            face.quit(130)

    def leave(code: int) -> None:
        if face.ready:
            face.runtime.session.request_abort()  # first: what is killed unasked would be told to the model
        kill_all_process_groups()
        face.quit(code)

    async def settle() -> None:
        await face.runtime.session.harness.wait_idle()
        signals.again()

    with Streams(lambda text: face.presenter.warn(text)) as streams:
        face = Face(opening, streams)
        atexit.register(face.app.restore_terminal)
        with ScreenSignals(interrupt, leave, face.app.restore_terminal) as signals:
            gc.enable()
            code = await face.app.run_async()
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
