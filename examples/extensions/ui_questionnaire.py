"""/questionnaire asks several questions, one after the other, and puts the answers into the editor."""

from __future__ import annotations

from piolet.ext import CommandContext, ExtensionAPI

QUESTIONS = {
    "Language": ["Python", "Rust", "Something else"],
    "Tests": ["Write them first", "Write them after", "None"],
}


def extension(pi: ExtensionAPI) -> None:
    @pi.command("questionnaire")
    async def questionnaire(args: str, ctx: CommandContext) -> None:
        """Answer a few questions about the task."""
        answers: list[str] = []
        for question, options in QUESTIONS.items():
            answer = await ctx.ui.select(question, options)
            if answer == "Something else":
                answer = await ctx.ui.input(question, "which one?")
            if not answer:
                ctx.ui.notify("Questionnaire cancelled", "warning")
                return
            answers.append(f"- {question}: {answer}")
        ctx.ui.set_editor_text("\n".join(answers))
