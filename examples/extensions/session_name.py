"""Names a session after its first question, and by command.

piolet -e examples/extensions/session_name.py
/session-name [NAME]
"""

from __future__ import annotations

from piolet.ext import AgentSettled, CommandContext, ExtensionAPI, ExtensionContext, MessageEntry, UserMessage, text_of

#: Characters of a name that is made from a question.
MOST = 50


def extension(pi: ExtensionAPI) -> None:
    @pi.on("agent_settled")
    def name_it(event: AgentSettled, ctx: ExtensionContext) -> None:
        if not pi.get_session_name():
            pi.set_session_name(first_question(ctx))

    @pi.command("session-name")
    async def session_name(args: str, ctx: CommandContext) -> None:
        """Show or change the name of the session."""
        if args.strip():
            pi.set_session_name(args.strip())
        ctx.ui.notify(f"This session is called {pi.get_session_name() or 'nothing yet'}.")


def first_question(ctx: ExtensionContext) -> str:
    for entry in ctx.session_manager.get_branch():
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            words = " ".join(text_of(entry.message.content).split())
            return words if len(words) <= MOST else words[:MOST].rsplit(" ", 1)[0] + "…"
    return ""
