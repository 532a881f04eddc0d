"""Interactive mode: a screen on the terminal from the first moment to the last."""

from __future__ import annotations

import gc

from piolet.modes.interactive.face import Face, MakePrompts, OpenRuntime
from piolet.modes.interactive.streams import Streams


async def run_interactive(open_runtime: OpenRuntime, make_prompts: MakePrompts) -> int:
    """Show the screen, open the runtime, send the prompts, and go on until the user leaves; return the exit code.

    Raises what `open_runtime` raises, and what nobody expected, once the terminal is restored.
    """
    with Streams(lambda text: face.presenter.warn(text)) as streams:
        face = Face(open_runtime, make_prompts, streams.terminal)
        gc.enable()
        code = await face.app.run_async()
        await face.dispose()
    if (error := face.failure or face.app.failure) is not None:
        raise error
    return code or 0
