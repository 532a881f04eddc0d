"""A checkpoint of the files behind every turn; going back in the conversation (/tree) can take the files back too.

    piolet -e examples/extensions/git_checkpoint.py [--restore-files]

A checkpoint is a commit of the whole working tree that no branch knows of; neither the index nor HEAD is touched. Its
id stands in the conversation, so it is found for whatever place one goes back to. Before files are restored the state
they are in becomes a checkpoint as well.
"""

from __future__ import annotations

import os
import tempfile

from piolet.ext import CustomEntry, ExtensionAPI, ExtensionContext, SessionStart, SessionTree, TurnEndEvent

KIND = "git-checkpoint"
AUTHOR = ["-c", "user.name=piolet", "-c", "user.email=piolet@localhost"]


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag(
        "restore-files", type="boolean", default=False, description="going back in the tree restores files unasked"
    )

    async def git(ctx: ExtensionContext, *args: str, index: str | None = None) -> str | None:
        """Run git, with an index file of its own if one is given; return its output, None if it fails."""
        program, words = "git", [*AUTHOR, *args]
        if index is not None:
            program, words = "env", [f"GIT_INDEX_FILE={index}", "git", *words]
        done = await pi.exec(program, words, cwd=ctx.cwd, timeout=60)
        return done.stdout.strip() if done.code == 0 else None

    async def snapshot(ctx: ExtensionContext) -> str | None:
        """Return the id of a commit of all files as they are now; None outside of a repository."""
        with tempfile.TemporaryDirectory() as folder:
            index = os.path.join(folder, "index")
            if await git(ctx, "add", "-A", "--", ".", index=index) is None:
                return None
            tree = await git(ctx, "write-tree", index=index)
        return await git(ctx, "commit-tree", tree, "-m", KIND) if tree else None

    def last(ctx: ExtensionContext) -> str | None:
        """Return the newest checkpoint of the branch."""
        for entry in reversed(ctx.session_manager.get_branch()):
            if isinstance(entry, CustomEntry) and entry.custom_type == KIND:
                commit: str = entry.data["commit"]
                return commit
        return None

    async def remember(ctx: ExtensionContext) -> str | None:
        commit = await snapshot(ctx)
        before = last(ctx)
        if commit is None or (before and await git(ctx, "diff", "--quiet", before, commit) is not None):
            return before
        pi.append_entry(KIND, {"commit": commit})
        return commit

    @pi.on("session_start")
    async def start(event: SessionStart, ctx: ExtensionContext) -> None:
        if last(ctx) is None:
            await remember(ctx)

    @pi.on("turn_end")
    async def turned(event: TurnEndEvent, ctx: ExtensionContext) -> None:
        if event.tool_results:
            await remember(ctx)

    @pi.on("session_tree")
    async def moved(event: SessionTree, ctx: ExtensionContext) -> None:
        wanted = last(ctx)
        now = await snapshot(ctx)
        if wanted is None or now is None or await git(ctx, "diff", "--quiet", wanted, now) is not None:
            return
        question = "Take the files back to where the conversation was, too?"
        if not pi.get_flag("restore-files") and not await ctx.ui.confirm("Restore files?", question):
            return
        added = await git(ctx, "diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", wanted, now)
        for name in filter(None, (added or "").split("\0")):
            await ctx.environment.remove(await ctx.environment.join(ctx.cwd, name))
        await git(ctx, "restore", f"--source={wanted}", "--worktree", "--", ".")
        ctx.ui.notify(f"Restored the files of {wanted[:8]}; they were as in {now[:8]} before.")
