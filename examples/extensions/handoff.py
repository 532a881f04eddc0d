"""Goes on in a new session with what matters for the next goal, in place of a compaction of everything.

piolet -e examples/extensions/handoff.py
/handoff now write the tests
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from piolet.ext import (
    AbortController,
    Aborted,
    CommandContext,
    CompletionFailed,
    ExtensionAPI,
    Key,
    Keymap,
    Loader,
    ReplacedSessionContext,
    Tui,
    UiTheme,
    conversation_text,
    text_of,
)

ASK = """\
Below is a conversation and the goal that a fresh colleague will work on next. Write the message that hands it over: \
the goal, then what of the conversation he needs for it (decisions, paths, names, open questions), and nothing else.

Goal: {goal}

Conversation:
{conversation}"""


class Waiting(Loader):
    """Turns while a model writes; Escape calls `stop`."""

    def __init__(self, theme: UiTheme, stop: Callable[[], object]) -> None:
        super().__init__("Writing the handoff (escape stops)", theme)
        self.stop = stop

    def handle_input(self, key: Key) -> bool:
        if key.name == "escape":
            self.stop()
        return True


def extension(pi: ExtensionAPI) -> None:
    async def wait(ctx: CommandContext, question: str) -> str | None:
        """Return what the model answers; on the screen a sign turns meanwhile. None: the user has stopped it."""
        controller = AbortController()

        async def ask() -> str | None:
            assert ctx.model is not None
            try:
                reply = await ctx.model_registry.complete(ctx.model, question, signal=controller.signal)
            except Aborted:
                return None
            except CompletionFailed as error:
                ctx.ui.notify(str(error), "error")
                return None
            return text_of(reply.content)

        if ctx.mode != "tui":
            return await ask()

        async def turn(waiting: Waiting, tui: Tui, done: Callable[[str | None], None]) -> None:
            asking = asyncio.create_task(ask())
            try:
                while not (await asyncio.wait([asking], timeout=0.1))[0]:
                    if tui.animated:
                        waiting.tick()
                        tui.request_render()
                done(await asking)
            finally:
                asking.cancel()

        def make(tui: Tui, theme: UiTheme, keybindings: Keymap, done: Callable[[str | None], None]) -> Waiting:
            waiting = Waiting(theme, controller.abort)
            pi.spawn(turn(waiting, tui, done))
            return waiting

        answer: str | None = await ctx.ui.custom(make)
        return answer

    @pi.command("handoff")
    async def handoff(args: str, ctx: CommandContext) -> None:
        """Hand over to a new session: /handoff GOAL."""
        goal = args.strip() or await ctx.ui.input("What is the next goal?") or ""
        messages = ctx.session_manager.build_session_context().messages
        if not goal or not messages or ctx.model is None:
            ctx.ui.notify("A handoff needs a goal, a conversation and a model.", "warning")
            return
        await ctx.wait_for_idle()
        words = await wait(ctx, ASK.format(goal=goal, conversation=conversation_text(messages)))
        if words and ctx.has_ui:
            words = await ctx.ui.editor("Handoff", words)
        if not words:
            return

        async def go_on(new: ReplacedSessionContext) -> None:
            await new.send_user_message(words)

        await ctx.new_session(parent_session=ctx.session_manager.get_session_file(), with_session=go_on)
