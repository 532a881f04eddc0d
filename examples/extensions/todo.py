"""A task list for the model, kept in the results of its tool, so that it follows the branch of the conversation.

piolet -e examples/extensions/todo.py
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from piolet.ext import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    MessageEntry,
    SessionStart,
    SessionTree,
    ToolContext,
    ToolResult,
    ToolResultMessage,
    text,
)


def extension(pi: ExtensionAPI) -> None:
    items: list[dict[str, Any]] = []

    def rebuild(event: SessionStart | SessionTree, ctx: ExtensionContext) -> None:
        items.clear()
        for entry in ctx.session_manager.get_branch():
            message = entry.message if isinstance(entry, MessageEntry) else None
            if isinstance(message, ToolResultMessage) and message.tool_name == "todo" and message.details:
                items[:] = [dict(item) for item in message.details.get("items", [])]
        show(ctx)

    def show(ctx: ExtensionContext) -> None:
        done = sum(item["done"] for item in items)
        ctx.ui.set_status("todo", f"{done}/{len(items)} done" if items else None)

    def listed() -> str:
        lines = [f"{number}. [{'x' if item['done'] else ' '}] {item['what']}" for number, item in enumerate(items, 1)]
        return "\n".join(lines) or "Nothing to do."

    pi.on("session_start", rebuild)
    pi.on("session_tree", rebuild)

    @pi.tool(label="Todo", execution_mode="sequential", prompt_snippet="keep a task list")
    async def todo(
        action: Annotated[Literal["list", "add", "done"], "what to do"],
        ctx: ToolContext,
        what: Annotated[str | None, "text for add"] = None,
        number: Annotated[int | None, "item for done"] = None,
    ) -> ToolResult:
        """Keep a short task list for this conversation."""
        if action == "add":
            if not what:
                raise ValueError("add needs a text in `what`")
            items.append({"what": what, "done": False})
        elif action == "done":
            if not number or number > len(items):
                raise ValueError(f"There is no item {number}")
            items[number - 1]["done"] = True
        show(ctx)
        return ToolResult([text(listed())], details={"items": [dict(item) for item in items]})

    @pi.command("todos")
    async def todos(args: str, ctx: CommandContext) -> None:
        """Show the task list."""
        ctx.ui.notify(listed())
