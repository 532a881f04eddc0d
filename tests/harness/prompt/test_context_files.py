from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.prompt.context_files import ContextFileFinder


def finder(cwd: Path, agent: Path | None = None) -> ContextFileFinder:
    return ContextFileFinder(LocalEnvironment(cwd), str(cwd), None if agent is None else str(agent))


async def texts(cwd: Path, agent: Path | None = None) -> list[str]:
    return [file.content for file in await finder(cwd, agent)()]


def put(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


async def test_the_users_file_comes_first_then_outermost_to_innermost(tmp_path: Path) -> None:
    put(tmp_path / "agent/CLAUDE.md", "user")
    put(tmp_path / "AGENTS.md", "outer")
    put(tmp_path / "a/b/AGENTS.override.md", "inner")
    put(tmp_path / "a/b/AGENTS.md", "shadowed")
    put(tmp_path / "a/b/c/AGENTS.md", "below")
    assert await texts(tmp_path / "a/b", tmp_path / "agent") == ["user", "outer", "inner"]


async def test_a_real_file_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "AGENTS.md", "once")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/AGENTS.md").symlink_to("../AGENTS.md")
    files = await finder(tmp_path / "sub")()
    assert [file.path for file in files] == [str(tmp_path / "AGENTS.md")]


async def test_what_is_no_readable_text_does_not_stop_anything(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.override.md")
    (tmp_path / "AGENTS.md").mkdir()
    put(tmp_path / "CLAUDE.md", b"\xef\xbb\xbfcaf\xe9\r\n")
    assert await texts(tmp_path) == ["caf\ufffd\r\n"]


async def test_an_edited_a_new_and_a_removed_file_are_noticed(tmp_path: Path) -> None:
    find = finder(tmp_path)
    assert await find() == ()
    put(tmp_path / "CLAUDE.md", "one")
    first = await find()
    assert [file.content for file in first] == ["one"]
    assert await find() is first
    put(tmp_path / "CLAUDE.md", "two, longer")
    assert [file.content for file in await find()] == ["two, longer"]
    put(tmp_path / "AGENTS.md", "three")
    assert [file.content for file in await find()] == ["three"]
    (tmp_path / "AGENTS.md").unlink()
    (tmp_path / "CLAUDE.md").unlink()
    assert await find() == ()


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("main/linked", ["linked"]),
        ("main/linked/x", ["linked"]),
        ("main/other", ["main", "other"]),
        ("beside", ["main file in beside"]),
    ],
)
async def test_a_worktree_inside_its_main_repository_replaces_the_file_of_the_same_name(
    tmp_path: Path, cwd: str, expected: list[str]
) -> None:
    put(tmp_path / "main/AGENTS.md", "main")
    git = ["git", "-C", str(tmp_path / "main"), "-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        *(["worktree", "add", "-q", path] for path in ("linked", "other", "../beside")),
    ):
        subprocess.run([*git, *command], check=True, capture_output=True)
    put(tmp_path / "main/linked/AGENTS.md", "linked")
    put(tmp_path / "main/other/CLAUDE.md", "other")
    put(tmp_path / "beside/AGENTS.md", "main file in beside")
    (tmp_path / "main/linked/x").mkdir()
    assert await texts(tmp_path / cwd) == expected
