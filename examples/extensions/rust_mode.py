"""Rules for Rust projects: in the prompt where there is a Cargo.toml, and a check behind every change of a .rs file.

piolet -e examples/extensions/rust_mode.py
"""

from __future__ import annotations

from piolet.ext import (
    BeforeAgentStart,
    ExtensionAPI,
    ExtensionContext,
    StartResult,
    ToolResultEvent,
    ToolResultPatch,
    text,
)

RULES = """\
This is a Rust project:
- Propagate errors with `?`; no `unwrap` or `expect` outside tests.
- No `unsafe` without a comment that says why it is sound.
- Before you hand back, run `cargo clippy --all-targets -- -D warnings` and `cargo test`."""


def extension(pi: ExtensionAPI) -> None:
    async def is_rust(ctx: ExtensionContext) -> bool:
        manifest = await ctx.environment.join(ctx.cwd, "Cargo.toml")
        return await ctx.environment.stat(manifest) is not None

    @pi.on("before_agent_start")
    async def add_rules(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult | None:
        return StartResult(append_system_prompt=RULES) if await is_rust(ctx) else None

    @pi.on("tool_result")
    async def check_format(event: ToolResultEvent, ctx: ExtensionContext) -> ToolResultPatch | None:
        path = str(event.input.get("path", ""))
        if event.tool_name not in ("edit", "write") or event.is_error or not path.endswith(".rs"):
            return None
        done = await pi.exec("rustfmt", ["--check", "--edition", "2021", path], cwd=ctx.cwd, timeout=20)
        if done.code == 0 or not done.stdout:
            return None
        note = text(f"\nrustfmt would change this file:\n{done.stdout[:2000]}")
        return ToolResultPatch(content=[*event.content, note])
