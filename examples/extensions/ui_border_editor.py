"""/border: the rule above the editor tells model, branch and state; the footer and the usual sign of work are gone."""

from __future__ import annotations

from piolet.ext import (
    AgentSettled,
    AgentStart,
    CommandContext,
    CustomEditor,
    ExtensionAPI,
    ExtensionContext,
    Keymap,
    Text,
    Tui,
    UiTheme,
    visible_width,
)


class BorderEditor(CustomEditor):
    state = "ready"

    def render(self, width: int) -> list[str]:
        view = self.tui.footer
        left = " · ".join(part for part in (view.model, view.branch) if part)
        line = "─" * (width - visible_width(left) - len(self.state) - 8)
        rule = f"── {left} {line} {self.state} ──" if line else "─" * width
        return [self.theme.fg("borderAccent", rule), *super().render(width)[1:]]


def extension(pi: ExtensionAPI) -> None:
    editors: list[BorderEditor] = []

    def make(tui: Tui, theme: UiTheme, keybindings: Keymap) -> BorderEditor:
        editors.append(BorderEditor(tui, theme, keybindings))
        return editors[-1]

    def tell(state: str) -> None:
        for editor in editors:
            editor.state = state
            editor.tui.request_render()

    @pi.command("border")
    def border(args: str, ctx: CommandContext) -> None:
        """Put the status into the editor's border, or back."""
        own = not editors
        editors.clear()
        ctx.ui.set_working_visible(not own)
        ctx.ui.set_footer((lambda tui, theme: Text()) if own else None)
        ctx.ui.set_editor_component(make if own else None)

    @pi.on("agent_start")
    def start(event: AgentStart, ctx: ExtensionContext) -> None:
        tell("at work")

    @pi.on("agent_settled")
    def settled(event: AgentSettled, ctx: ExtensionContext) -> None:
        tell("ready")
