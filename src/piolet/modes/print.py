"""Print mode: one prompt after the other, the last answer on standard output."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from piolet.agent.events import MessageEnd
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.runtime import Runtime
from piolet.harness.events import AutoRetryEnd, HarnessEvent
from piolet.harness.session.errors import SessionError
from piolet.llm.messages import AssistantMessage, TextContent
from piolet.modes.output import Output
from piolet.modes.say import complain, failure_teller, say
from piolet.modes.signals import Signals

TRUNCATED = "Response was truncated: the model reached its output token limit."


async def run_print(runtime: Runtime, prompts: Sequence[UserPrompt]) -> int:
    """Send `prompts`, print the last answer; return the exit code. Disposes of `runtime`."""
    output = Output()
    runtime.on_failure = failure_teller(verbose=runtime.options.verbose)
    code = 0
    with Signals(runtime.interrupt) as signals:
        try:
            await runtime.start()
            last = LastAnswer(runtime)
            for prompt in prompts:
                await runtime.wait_idle()  # extensions may have begun something
                last.message = None
                await runtime.session.prompt(prompt, behavior="follow_up")
                await runtime.wait_idle()
                if signals.exit_code is not None or runtime.shutdown_requested:
                    break
            code = await _show(last, runtime, output)
        except (PromptRejected, SessionError) as error:
            complain(str(error))
            code = 1
        except asyncio.CancelledError:
            if signals.exit_code is None:
                raise
        await signals.end(runtime, output)
    return 1 if output.broken else code


class LastAnswer:
    """Listens for the last answer, also of runs that extensions started; `why` it failed, when it is given up."""

    def __init__(self, runtime: Runtime) -> None:
        self.message: AssistantMessage | None = None
        self.why: str | None = None
        runtime.subscribe(self._hear)

    def _hear(self, event: HarnessEvent) -> None:
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            self.message, self.why = event.message, event.message.error_message
        elif isinstance(event, AutoRetryEnd) and not event.success:
            self.why = event.final_error


async def _show(last: LastAnswer, runtime: Runtime, output: Output) -> int:
    final = last.message
    if final is None:
        return 0
    if final.stop_reason in ("error", "aborted"):
        say(last.why or f"Request {final.stop_reason}")
        return 1
    if final.stop_reason == "length" and runtime.session.was_dropped(final):
        return 0
    for block in final.content:
        if isinstance(block, TextContent):
            await output.text((_drawable(block.text) if output.is_terminal else block.text) + "\n")
    if final.stop_reason == "length":
        say(TRUNCATED)
        return 1
    return 0


def _drawable(text: str) -> str:
    from piolet.tui.text import safe_for_terminal

    return safe_for_terminal(text)
