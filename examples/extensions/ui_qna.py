"""/qna puts the questions of the last answer into the editor, each with room for what you say to it."""

from __future__ import annotations

from piolet.ext import AssistantMessage, CommandContext, ExtensionAPI, text_of

ASK = """\
List the questions that the text below asks its reader, one a line and nothing else. If it asks none, write NONE.

"""


def extension(pi: ExtensionAPI) -> None:
    @pi.command("qna")
    async def qna(args: str, ctx: CommandContext) -> None:
        """Answer the questions of the last answer."""
        messages = ctx.session_manager.build_session_context().messages
        answer = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
        if answer is None or ctx.model is None:
            ctx.ui.notify("There is no answer yet", "warning")
            return
        ctx.ui.set_status("qna", "looking for questions")
        try:
            found = await ctx.model_registry.complete(ctx.model, ASK + text_of(answer.content))
        finally:
            ctx.ui.set_status("qna", None)
        questions = [line.strip("-* ") for line in text_of(found.content).splitlines() if line.strip()]
        if questions in ([], ["NONE"]):
            ctx.ui.notify("It asks nothing")
            return
        ctx.ui.set_editor_text("\n".join(f"Q: {question}\nA: " for question in questions))
