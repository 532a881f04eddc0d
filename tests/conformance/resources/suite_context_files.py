"""Context files of a working folder, in order."""

from __future__ import annotations

import asyncio
import subprocess
from typing import Any

from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.prompt.context_files import ContextFileFinder
from tests.conformance.resources.world import expect, scratch


def context_files(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    with scratch(given["tree"]) as root:
        for repo in given.get("gitRepos", []):
            git(root / repo, "init", "-q")
            git(root / repo, "add", "-A")
            git(root / repo, "commit", "-q", "--allow-empty", "-m", "x")
        if "worktree" in given:
            repo, linked = given["worktree"]
            git(root / repo, "worktree", "add", "-q", str(root / linked))
        cwd = root / given["cwd"]
        cwd.mkdir(parents=True, exist_ok=True)
        finder = ContextFileFinder(LocalEnvironment(cwd), str(cwd), str(root / given["agentDir"]))
        found = asyncio.run(finder())
        inside = [file for file in found if file.path.startswith(str(root))]
        expect(case, lambda: [{"path": file.path, "content": file.content} for file in inside], root)


def git(folder: Any, *arguments: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


OPS = {"context_files": context_files}
