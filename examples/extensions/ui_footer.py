"""/footer shows a footer of one line in place of the usual one, and the usual one again."""

from __future__ import annotations

from piolet.ext import CommandContext, ExtensionAPI, Tui, UiTheme


class Footer:
    """Folder, branch and model in one line. It is drawn anew whenever one of them changes."""

    def __init__(self, tui: Tui, theme: UiTheme) -> None:
        self.tui, self.theme = tui, theme

    def render(self, width: int) -> list[str]:
        view = self.tui.footer
        parts = [view.cwd.rpartition("/")[2], view.branch, view.model, *self.tui.statuses.values()]
        return [self.theme.fg("dim", " | ".join(part for part in parts if part))]


def extension(pi: ExtensionAPI) -> None:
    own = False

    @pi.command("footer")
    def footer(args: str, ctx: CommandContext) -> None:
        """Change the footer."""
        nonlocal own
        own = not own
        ctx.ui.set_footer(Footer if own else None)
