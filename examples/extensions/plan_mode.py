"""Plan first, change later: a mode in which the model can only look, and a plan whose steps are then followed.

    piolet -e examples/extensions/plan_mode.py --plan
    /plan        ctrl+alt+p: on and off

While planning only tools that look are active, and `bash` runs only commands that change nothing. When the plan is
there you are asked whether to carry it out. The steps that are done are marked as the model reports them.
"""

from __future__ import annotations

import re
from typing import Any

from piolet.ext import (
    AgentEnd,
    AgentSettled,
    AssistantMessage,
    BeforeAgentStart,
    CommandContext,
    CustomEntry,
    CustomMessageDraft,
    ExtensionAPI,
    ExtensionContext,
    SessionStart,
    SessionTree,
    StartResult,
    ToolCallEvent,
    ToolCallResult,
    TurnEndEvent,
)

LOOKING = ["read", "bash", "grep", "find", "ls"]
HARMLESS = re.compile(
    r"\s*(cat|head|tail|less|wc|grep|rg|find|fd|ls|pwd|tree|stat|file|du|df|which|echo|date|env"
    r"|git\s+(status|log|diff|show|branch|blame|ls-files)|(pip|npm)\s+(list|ls)|python3?\s+--version)\b"
)
CHANGING = re.compile(r"[>;&`]|\$\(|\|\s*(sh|bash|xargs|tee)\b|\s-(delete|exec|i)\b")
RULES = """\
[Plan mode] You are planning. Look at what you need, but change nothing: only tools that look are available, and bash \
takes only commands that look. Finish with a heading `Plan:` and numbered steps, one line each."""
FOLLOW = "Carry out the plan. Behind each step that you have finished write [DONE:n] with its number."


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("plan", type="boolean", default=False, description="start in plan mode")
    steps: list[dict[str, Any]] = []
    usual: list[str] = []
    planning = False

    def show(ctx: ExtensionContext) -> None:
        done = sum(step["done"] for step in steps)
        ctx.ui.set_status("plan", "planning" if planning else f"plan {done}/{len(steps)}" if steps else None)
        lines = [f"{'[x]' if step['done'] else '[ ]'} {step['what']}" for step in steps]
        ctx.ui.set_widget("plan", lines or None)

    def save() -> None:
        pi.append_entry("plan-mode", {"planning": planning, "steps": [dict(step) for step in steps]})

    def switch(on: bool, ctx: ExtensionContext) -> None:
        nonlocal planning
        planning = on
        pi.set_active_tools(LOOKING if on else usual)
        show(ctx)

    def restore(event: SessionStart | SessionTree, ctx: ExtensionContext) -> None:
        saved = [
            e for e in ctx.session_manager.get_branch() if isinstance(e, CustomEntry) and e.custom_type == "plan-mode"
        ]
        state: dict[str, Any] = saved[-1].data if saved else {"planning": pi.get_flag("plan") is True, "steps": []}
        steps[:] = [dict(step) for step in state["steps"]]
        if not usual:
            usual.extend(pi.get_active_tools())
        switch(state["planning"], ctx)

    pi.on("session_start", restore)
    pi.on("session_tree", restore)

    @pi.on("tool_call")
    def guard(event: ToolCallEvent, ctx: ExtensionContext) -> ToolCallResult | None:
        if not planning:
            return None
        command = str(event.input.get("command", ""))
        if event.tool_name not in LOOKING:
            return ToolCallResult(block=True, reason=f"Plan mode: {event.tool_name} is not available")
        if event.tool_name == "bash" and (not HARMLESS.match(command) or CHANGING.search(command)):
            return ToolCallResult(block=True, reason=f"Plan mode: this command may change something: {command}")
        return None

    @pi.on("before_agent_start")
    def instruct(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult | None:
        if planning:
            return StartResult(message=CustomMessageDraft("plan-mode", RULES, display=False))
        left = [f"{number}. {step['what']}" for number, step in enumerate(steps, 1) if not step["done"]]
        if not left:
            return None
        words = "\n".join(["Steps of the plan that are left:", *left, FOLLOW])
        return StartResult(message=CustomMessageDraft("plan-mode", words, display=False))

    @pi.on("turn_end")
    def mark(event: TurnEndEvent, ctx: ExtensionContext) -> None:
        numbers = {int(number) for number in re.findall(r"\[DONE:(\d+)\]", event.message.text)}
        changed = [step for number, step in enumerate(steps, 1) if number in numbers and not step["done"]]
        for step in changed:
            step["done"] = True
        if changed:
            show(ctx)
            save()

    @pi.on("agent_end")
    def take_plan(event: AgentEnd, ctx: ExtensionContext) -> None:
        answers = [message.text for message in event.messages if isinstance(message, AssistantMessage)]
        found = planning and plan_of("\n".join(answers))
        if found:
            steps[:] = [{"what": what, "done": False} for what in found]
            show(ctx)

    @pi.on("agent_settled")
    async def ask(event: AgentSettled, ctx: ExtensionContext) -> None:
        if not planning or not steps or event.aborted:
            return
        save()
        choice = await ctx.ui.select("The plan is ready", ["Carry it out", "Stay in plan mode", "Refine it"])
        if choice == "Carry it out":
            switch(False, ctx)
            save()
            pi.send_message(CustomMessageDraft("plan-mode", FOLLOW), trigger_turn=True)
        elif choice == "Refine it":
            words = await ctx.ui.editor("What should be different?")
            if words:
                pi.send_user_message(words)

    def toggle(ctx: ExtensionContext) -> None:
        switch(not planning, ctx)
        save()
        ctx.ui.notify("Plan mode is on." if planning else "Plan mode is off.")

    @pi.command("plan")
    def plan(args: str, ctx: CommandContext) -> None:
        """Switch plan mode on or off."""
        toggle(ctx)

    pi.register_shortcut("ctrl+alt+p", toggle, description="plan mode on or off")


def plan_of(answer: str) -> list[str]:
    """Return the numbered steps below the last ``Plan:`` of an answer."""
    _, heading, body = answer.rpartition("Plan:")
    return [match.strip() for match in re.findall(r"^\s*\d+[.)]\s+(.+)$", body, re.MULTILINE)] if heading else []
