"""Presets of model, thinking level, tools and instructions, from presets.json of the agent folder or the project.

piolet -e examples/extensions/preset.py --preset review
/preset [NAME]        ctrl+alt+o: the next one

{"review": {"provider": "anthropic", "model": "claude-opus-4-5", "thinkingLevel": "high",
            "tools": ["read", "grep", "find", "ls"], "instructions": "Review only, change nothing."}}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from piolet.ext import (
    BeforeAgentStart,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    SessionStart,
    StartResult,
    get_agent_dir,
)


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("preset", type="string", description="preset to start with")
    presets: dict[str, dict[str, Any]] = {}
    active: str | None = None
    usual: list[str] = []

    async def use(name: str | None, ctx: ExtensionContext) -> None:
        nonlocal active
        if name is not None and name not in presets:
            known = ", ".join(presets) or "none"
            ctx.ui.notify(f"There is no preset {name}; there are: {known}", "warning")
            return
        preset = presets[name] if name else {}
        active = name
        if "model" in preset:
            model = ctx.model_registry.find(preset.get("provider", ""), preset["model"])
            if model is None or not await pi.set_model(model):
                ctx.ui.notify(f"The model of the preset {name} cannot be used", "warning")
        if "thinkingLevel" in preset:
            pi.set_thinking_level(preset["thinkingLevel"])
        pi.set_active_tools(preset.get("tools", usual))
        ctx.ui.set_status("preset", f"preset {name}" if name else None)

    @pi.on("session_start")
    async def start(event: SessionStart, ctx: ExtensionContext) -> None:
        usual[:] = pi.get_active_tools()
        files = [Path(get_agent_dir(), "presets.json")]
        if ctx.is_project_trusted():
            files.append(Path(ctx.session_manager.get_cwd(), ".pi", "presets.json"))
        for file in files:
            if file.exists():
                presets.update(json.loads(file.read_text(encoding="utf-8")))
        wanted = pi.get_flag("preset")
        if isinstance(wanted, str):
            await use(wanted, ctx)

    @pi.on("before_agent_start")
    def instruct(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult | None:
        words = presets[active].get("instructions") if active else None
        return StartResult(append_system_prompt=words) if words else None

    @pi.command("preset", complete=lambda prefix: [name for name in presets if name.startswith(prefix)])
    async def preset(args: str, ctx: CommandContext) -> None:
        """Use a preset, or none."""
        name = args.strip() or await ctx.ui.select("Preset", ["none", *presets])
        if name:
            await use(None if name == "none" else name, ctx)

    async def cycle(ctx: ExtensionContext) -> None:
        names = [None, *presets]
        await use(names[(names.index(active) + 1) % len(names)], ctx)

    pi.register_shortcut("ctrl+alt+o", cycle, description="next preset")
