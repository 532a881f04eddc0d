"""Names the rules in .claude/rules to the model, which reads one when it works on what the rule is about.

    piolet -e examples/extensions/claude_rules.py

The listing costs a line a rule; the rules themselves cost nothing until they are read.
"""

from __future__ import annotations

from piolet.ext import (
    BeforeAgentStart,
    Environment,
    ExtensionAPI,
    ExtensionContext,
    StartResult,
    parse_frontmatter,
)

FOLDER = ".claude/rules"
INTRO = "Rules of this project. Read the file of a rule before you work on what it is about:"


def extension(pi: ExtensionAPI) -> None:
    @pi.on("before_agent_start")
    async def list_rules(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult | None:
        if not ctx.is_project_trusted():
            return None
        folder = await ctx.environment.join(ctx.cwd, FOLDER)
        rules = sorted(await described(ctx.environment, folder, FOLDER))
        return StartResult(append_system_prompt="\n".join([INTRO, *rules])) if rules else None


async def described(environment: Environment, folder: str, shown: str) -> list[str]:
    """Return a line for each rule below `folder`."""
    lines: list[str] = []
    if await environment.stat(folder) is None:
        return lines
    for entry in await environment.list_directory(folder):
        path, name = await environment.join(folder, entry.name), f"{shown}/{entry.name}"
        if entry.kind == "directory":
            lines += await described(environment, path, name)
        elif entry.name.endswith(".md"):
            fields, body = parse_frontmatter((await environment.read_bytes(path)).decode("utf-8", "replace"))
            about = fields.get("description") or fields.get("paths") or body.strip().split("\n")[0].lstrip("# ")
            lines.append(f"- {name}: {about}")
    return lines
