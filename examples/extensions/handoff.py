"""Goes on in a new session with what matters for the next goal, in place of a compaction of everything.

piolet -e examples/extensions/handoff.py
/handoff now write the tests
"""

from __future__ import annotations

from piolet.ext import CommandContext, ExtensionAPI, ReplacedSessionContext, conversation_text

ASK = """\
Below is a conversation and the goal that a fresh colleague will work on next. Write the message that hands it over: \
the goal, then what of the conversation he needs for it (decisions, paths, names, open questions), and nothing else.

Goal: {goal}

Conversation:
{conversation}"""


def extension(pi: ExtensionAPI) -> None:
    @pi.command("handoff")
    async def handoff(args: str, ctx: CommandContext) -> None:
        """Hand over to a new session: /handoff GOAL."""
        goal = args.strip() or await ctx.ui.input("What is the next goal?") or ""
        messages = ctx.session_manager.build_session_context().messages
        if not goal or not messages or ctx.model is None:
            ctx.ui.notify("A handoff needs a goal, a conversation and a model.", "warning")
            return
        await ctx.wait_for_idle()
        ctx.ui.set_status("handoff", "writing the handoff")
        question = ASK.format(goal=goal, conversation=conversation_text(messages))
        try:
            reply = await ctx.model_registry.complete(ctx.model, question)
        finally:
            ctx.ui.set_status("handoff", None)
        words = await ctx.ui.editor("Handoff", reply.text) if ctx.has_ui else reply.text
        if not words:
            return

        async def go_on(new: ReplacedSessionContext) -> None:
            await new.send_user_message(words)

        await ctx.new_session(parent_session=ctx.session_manager.get_session_file(), with_session=go_on)
