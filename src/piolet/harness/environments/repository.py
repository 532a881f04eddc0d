"""Where git keeps the repository of a project, and what there makes git run programs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

#: In the folder of a repository, or of a worktree of it: settings, and what says where there are others.
_GUARDED: Final = ("config", "config.worktree", "commondir", "gitdir")


def repository_root(folder: str) -> str | None:
    """Return the nearest folder at or above `folder` that has ``.git``, None if there is none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def git_folder(project: str) -> str | None:
    """Return the folder where git keeps the repository of a project.

    For a linked worktree that is the main repository's. Only if that knows the worktree: the link is a file of the
    project, which must not open any other folder.
    """
    path = os.path.join(project, ".git")
    if os.path.isdir(path) and not os.path.islink(path):
        return path
    admin = git_admin(project)
    if admin is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        common = os.path.realpath(os.path.join(admin, Path(admin, "commondir").read_text().strip()))
        if os.path.isdir(os.path.join(common, "objects")):
            return common
    return None


def git_admin(project: str) -> str | None:
    """Return the folder that git keeps for a linked worktree in its repository; None if `project` is none."""
    path = os.path.join(project, ".git")
    with contextlib.suppress(OSError, ValueError):
        link = Path(path).read_text()
        admin = os.path.realpath(os.path.join(project, link.removeprefix("gitdir:").strip()))
        if os.path.realpath(Path(admin, "gitdir").read_text().strip()) == os.path.realpath(path):
            return admin
    return None


def guarded(project: str, git: str) -> list[str]:
    """Return the files and folders of the repository in `git` that lead git to settings and hooks, whether they exist
    or not, but for the hooks themselves: those of the repository and of the worktree `project`, and all of others."""
    own = git_admin(project)
    worktrees = os.path.join(git, "worktrees")
    names = sorted(os.listdir(worktrees)) if os.path.isdir(worktrees) else []
    others = [path for name in names if (path := os.path.join(worktrees, name)) != own]
    folders = [git] if own is None else [git, own]
    return [*others, *(os.path.join(folder, name) for folder in folders for name in _GUARDED)]


def stand_ins(project: str, git: str) -> dict[str, str]:
    """Return what can be put into those of `guarded` that do not exist and would count: texts that change nothing."""
    texts = {os.path.join(git, "commondir"): ".\n"}
    with contextlib.suppress(OSError):
        if "worktreeconfig" in Path(git, "config").read_text(errors="replace").lower():
            texts |= {os.path.join(folder, "config.worktree"): "" for folder in (git, git_admin(project) or git)}
    return {path: text for path, text in texts.items() if not os.path.lexists(path)}
