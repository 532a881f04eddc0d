"""/plan keeps a list of steps above the editor; /done ticks the next one off, with a bar of the progress below."""

from __future__ import annotations

from piolet.ext import CommandContext, ExtensionAPI


def extension(pi: ExtensionAPI) -> None:
    steps: list[str] = []
    finished = 0

    def show(ctx: CommandContext) -> None:
        theme = ctx.ui.theme
        lines = [
            theme.fg("success", f"☑ {step}") if number < finished else theme.fg("muted", f"☐ {step}")
            for number, step in enumerate(steps)
        ]
        bar = "█" * finished + "░" * (len(steps) - finished)
        ctx.ui.set_widget("plan", lines or None)
        ctx.ui.set_widget("bar", [f"{bar} {finished}/{len(steps)}"] if steps else None, placement="below_editor")

    @pi.command("plan")
    def plan(args: str, ctx: CommandContext) -> None:
        """Set the steps, parted by commas; none: end the plan."""
        nonlocal finished
        steps[:] = [step.strip() for step in args.split(",") if step.strip()]
        finished = 0
        show(ctx)

    @pi.command("done")
    def done(args: str, ctx: CommandContext) -> None:
        """Tick off the next step."""
        nonlocal finished
        finished = min(len(steps), finished + 1)
        show(ctx)
