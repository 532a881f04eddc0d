"""What sub-agents are doing stands above the editor, one line each, while the `subagent` tool runs."""

from __future__ import annotations

import time
from typing import Any

from piolet.ext import ExtensionAPI, ExtensionContext, UiTheme

MARKS = {"waiting": ("·", "dim"), "running": ("▸", "accent"), "done": ("✓", "success"), "failed": ("✗", "error")}


class Progress:
    """Draws the runs of all calls that are under way."""

    def __init__(self, calls: dict[str, list[dict[str, Any]]], begun: dict[str, float], theme: UiTheme) -> None:
        self.calls, self.begun, self.theme = calls, begun, theme

    def render(self, width: int) -> list[str]:
        rows: list[str] = []
        for call, runs in self.calls.items():
            seconds = round(time.monotonic() - self.begun[call])
            done = sum(run["state"] in ("done", "failed") for run in runs)
            bar = self.theme.fg("accent", "━" * done) + self.theme.fg("dim", "━" * (len(runs) - done))
            rows.append(f"Agents {bar} {done}/{len(runs)} {self.theme.fg('dim', f'{seconds}s')}")
            for run in runs:
                mark, color = MARKS.get(run["state"], MARKS["running"])
                facts = f"{run['turns']} turns, {run['calls']} calls"
                text = f"{mark} {run['agent']}: {run['task']}"[: max(0, width - len(facts) - 4)]
                rows.append(f" {self.theme.fg(color, text)} {self.theme.fg('dim', facts)}")
        return rows


def extension(pi: ExtensionAPI) -> None:
    calls: dict[str, list[dict[str, Any]]] = {}
    begun: dict[str, float] = {}

    def show(ctx: ExtensionContext) -> None:
        ctx.ui.set_widget("agents", (lambda tui, theme: Progress(calls, begun, theme)) if calls else None)

    @pi.on("tool_execution_update")
    def update(event: Any, ctx: ExtensionContext) -> None:
        details = event.partial_result.details
        if event.tool_name == "subagent" and isinstance(details, dict):
            begun.setdefault(event.tool_call_id, time.monotonic())
            calls[event.tool_call_id] = details["runs"]
            show(ctx)

    @pi.on("tool_execution_end")
    def end(event: Any, ctx: ExtensionContext) -> None:
        if calls.pop(event.tool_call_id, None) is not None:
            show(ctx)
