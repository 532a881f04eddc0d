"""JSON mode: the events of all prompts as one stream of JSON lines, the session's header first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.runtime import Runtime
from piolet.app.wire import to_wire
from piolet.harness.events import HarnessEvent
from piolet.harness.session.errors import SessionError
from piolet.modes.output import Output
from piolet.modes.say import complain, failure_teller
from piolet.modes.signals import Signals


async def run_json(runtime: Runtime, prompts: Sequence[UserPrompt]) -> int:
    """Send `prompts`; return the exit code: errors of the model are in the events. Disposes of `runtime`."""
    output = Output(on_broken=runtime.interrupt)
    runtime.on_failure = failure_teller(verbose=runtime.options.verbose)

    async def write(event: HarnessEvent) -> None:
        record = to_wire(event)
        if record is not None:
            await output.record(record)

    code = 0
    with Signals(runtime.interrupt) as signals:
        try:
            await output.record(runtime.session.header)
            runtime.subscribe(write)
            await runtime.start()
            for prompt in prompts:
                await runtime.wait_idle()  # extensions may have begun something
                await runtime.session.prompt(prompt, behavior="follow_up")
                await runtime.wait_idle()
                if signals.exit_code is not None or output.broken or runtime.shutdown_requested:
                    break
        except (PromptRejected, SessionError) as error:
            complain(str(error))
            code = 1
        except asyncio.CancelledError:
            if signals.exit_code is None:
                raise
        await signals.end(runtime, output)
    return 1 if output.broken else code
