"""Commits what the session changed when the program is left, with the last answer as message.

piolet -e examples/extensions/auto_commit.py
"""

from __future__ import annotations

from piolet.ext import AssistantMessage, ExtensionAPI, ExtensionContext, MessageEntry, SessionShutdown


def extension(pi: ExtensionAPI) -> None:
    @pi.on("session_shutdown")
    async def commit(event: SessionShutdown, ctx: ExtensionContext) -> None:
        if event.reason != "quit":
            return
        changes = await pi.exec("git", ["status", "--porcelain"], cwd=ctx.cwd, timeout=10)
        if changes.code != 0 or not changes.stdout.strip():
            return
        await pi.exec("git", ["add", "-A"], cwd=ctx.cwd, timeout=30)
        subject, body = message(last_answer(ctx))
        await pi.exec("git", ["commit", "-q", "-m", subject, *(["-m", body] if body else [])], cwd=ctx.cwd, timeout=60)


def last_answer(ctx: ExtensionContext) -> str:
    for entry in reversed(ctx.session_manager.get_branch()):
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage) and entry.message.text:
            return entry.message.text
    return ""


def message(answer: str) -> tuple[str, str]:
    """Return subject and body of the commit for the last answer of the model."""
    subject, _, body = answer.strip().partition("\n")
    return f"[piolet] {subject[:60] or 'Work in progress'}", body.strip()
