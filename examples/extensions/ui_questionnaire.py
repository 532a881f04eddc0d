"""/questionnaire asks several questions, one after the other, and puts the answers into the editor; with the tool
ask_user the model asks in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from piolet.ext import UI, CommandContext, ExtensionAPI, RenderOptions, ToolContext, ToolResult, UiTheme, text, text_of

OTHER = "Something else"
QUESTIONS = {
    "Language": ["Python", "Rust"],
    "Tests": ["Write them first", "Write them after", "None"],
}


async def ask(ui: UI, question: str, options: Sequence[str]) -> str | None:
    """Return the option that the user chooses, or what the user writes in place of them."""
    answer = await ui.select(question, [*options, OTHER])
    return await ui.input(question, "which one?") if answer == OTHER else answer


def draw(result: ToolResult, options: RenderOptions, theme: UiTheme) -> str:
    return theme.fg("success", f"✓ {text_of(result.content)}")


def extension(pi: ExtensionAPI) -> None:
    @pi.command("questionnaire")
    async def questionnaire(args: str, ctx: CommandContext) -> None:
        """Answer a few questions about the task."""
        answers: list[str] = []
        for question, options in QUESTIONS.items():
            answer = await ask(ctx.ui, question, options)
            if not answer:
                ctx.ui.notify("Questionnaire cancelled", "warning")
                return
            answers.append(f"- {question}: {answer}")
        ctx.ui.set_editor_text("\n".join(answers))

    @pi.tool(label="Ask the user", execution_mode="sequential", render_result=draw)
    async def ask_user(
        question: Annotated[str, "one sentence"], options: Annotated[list[str], "likely answers"], ctx: ToolContext
    ) -> ToolResult:
        """Ask the user a question when the task leaves something open."""
        answer = await ask(ctx.ui, question, options) if ctx.has_ui else None
        return ToolResult([text(answer or "The user did not answer.")])
