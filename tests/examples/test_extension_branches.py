"""What examples do when one goes back in the tree, and where the tools act elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import CommandContext
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.llm.messages import text_of
from tests.app.extensions.stage import stage
from tests.support.run import ROOT
from tests.support.scripted_model import call, says

EXAMPLES = ROOT / "examples" / "extensions"


def goto(pi: ExtensionAPI) -> None:
    @pi.command("goto")
    async def goto(args: str, ctx: CommandContext) -> None:
        await ctx.navigate_tree(args)


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@localhost"]
    done = subprocess.run(["git", *identity, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("answer", [True, False])
async def test_files_go_back_with_the_conversation_if_wanted(tmp_path: Path, answer: bool) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "a.txt").write_text("one\n")
    (work / "kept.txt").write_text("kept\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Begin")
    replies = [
        says(call("write", path="a.txt", content="two\n"), call("write", id="c2", path="new.txt", content="new")),
        says("One."),
        says(call("write", id="c3", path="a.txt", content="three\n"), call("bash", id="c4", command="rm kept.txt")),
        says("Two."),
    ]
    paths = [EXAMPLES / "git_checkpoint.py"]
    async with stage(tmp_path, *replies, factories=[goto], paths=paths, answers=[answer, answer]) as made:
        await made.prompt("first")
        await made.prompt("second")
        (work / "unsaved.txt").write_text("by hand")
        (first, _), (second, _) = made.runtime.session.fork_points()
        await made.prompt(f"/goto {second}")
        assert made.failures == []
        names = {path.name for path in work.iterdir()} - {".git"}
        if not answer:
            assert ((work / "a.txt").read_text(), names) == ("three\n", {"a.txt", "new.txt", "unsaved.txt"})
            return
        assert ((work / "a.txt").read_text(), names) == ("two\n", {"a.txt", "kept.txt", "new.txt"})
        await made.prompt(f"/goto {first}")
        names = {path.name for path in work.iterdir()} - {".git"}
        assert ((work / "a.txt").read_text(), names) == ("one\n", {"a.txt", "kept.txt"})
        lost = made.ui.shown[1][1].split("as in ")[1].split(" ")[0]
        assert git(work, "show", f"{lost}:unsaved.txt") == "by hand"
        assert git(work, "status", "--porcelain") == ""


async def test_the_task_list_follows_the_branch(tmp_path: Path) -> None:
    replies = [
        says(call("todo", action="add", what="one")),
        says("A."),
        says(call("todo", id="c2", action="add", what="two")),
        says("B."),
        says(call("todo", id="c3", action="list")),
        says("C."),
    ]
    async with stage(tmp_path, *replies, factories=[goto], paths=[EXAMPLES / "todo.py"]) as made:
        await made.prompt("first")
        await made.prompt("second")
        second = made.runtime.session.fork_points()[1][0]
        await made.prompt(f"/goto {second}")
        await made.prompt("again")
        results = [text_of(m.content) for m in made.model.requests[-1].context.messages if m.role == "toolResult"]
        assert results == ["1. [ ] one", "1. [ ] one"]
        assert made.failures == []


async def test_paths_are_protected_where_the_tools_act(tmp_path: Path) -> None:
    there = MemoryEnvironment({"/work/secrets/.git/config": b"x"})
    calls = [
        call("write", id=f"c{n}", path=path, content="x") for n, path in enumerate(("secrets/.git/config", "fine.txt"))
    ]
    async with stage(tmp_path, says(*calls), says("Done."), paths=[EXAMPLES / "protected_paths.py"]) as made:
        made.runtime.extensions.environment = there
        await made.prompt("go")
        blocked, fine = [line for line in made.stored() if line.startswith("toolResult")]
        assert ".git is protected" in blocked
        assert "protected" not in fine
