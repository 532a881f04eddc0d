"""What the footer says, gathered from the session; and the branch of the working folder."""

from __future__ import annotations

import os
from pathlib import Path

from piolet.app.agent_session import AgentSession
from piolet.harness.drive import last_answer
from piolet.tui.blocks.footer import FooterView


class Footer:
    """Builds the footer's view. What costs is kept for as long as the session has not moved on."""

    def __init__(self) -> None:
        self._branch = GitBranch(Path())
        self._key: tuple[object, ...] = ()
        self._numbers = FooterView("")

    def view(self, session: AgentSession) -> FooterView:
        """Return what to show now."""
        services, harness = session.services, session.harness
        if self._branch.folder != services.cwd:
            self._branch = GitBranch(services.cwd)
        key = (id(services), session.session.id, session.session.leaf_id, len(session.session.heads), harness.model.key)
        if key != self._key:
            self._key, self._numbers = key, _numbers(session)
        model = session.model
        numbers = self._numbers
        return FooterView(
            cwd=str(services.cwd),
            branch=self._branch.name(),
            session_name=session.session.name or "",
            input=numbers.input,
            output=numbers.output,
            cache_read=numbers.cache_read,
            cache_write=numbers.cache_write,
            hit_percent=numbers.hit_percent,
            cost=numbers.cost,
            subscription=model is not None and services.models.is_using_oauth(model),
            context_percent=numbers.context_percent,
            context_window=numbers.context_window,
            auto_compact=session.auto_compaction,
            provider=model.provider if model else "",
            providers=numbers.providers,
            model=model.id if model else "",
            thinking=session.thinking_level if model is not None and model.reasoning else "",
            home=str(services.options.home),
            elsewhere="" if services.place == "local" else services.place,
        )


def _numbers(session: AgentSession) -> FooterView:
    stats = session.stats()
    totals, context = stats.totals, stats.context
    answer = last_answer(session.harness.agent.messages)
    hit = None
    if answer is not None and (asked := answer.usage.input + answer.usage.cache_read + answer.usage.cache_write):
        hit = answer.usage.cache_read * 100 / asked
    return FooterView(
        "",
        input=totals.input,
        output=totals.output,
        cache_read=totals.cache_read,
        cache_write=totals.cache_write,
        hit_percent=hit,
        cost=totals.cost,
        context_percent=context.percent if context else None,
        context_window=context.window if context else 0,
        providers=len({model.provider for model in session.services.models.get_available()}),
    )


class GitBranch:
    """The branch that is checked out in a folder: read again only when ``HEAD`` has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._head = find_head(folder)
        self._stamp = 0
        self._name = ""

    def name(self) -> str:
        """Return the branch; a short commit id when there is none, empty outside of a repository."""
        if self._head is None:
            return ""
        try:
            stamp = os.stat(self._head).st_mtime_ns
            if stamp != self._stamp:
                self._stamp = stamp
                text = self._head.read_text(errors="replace").strip()
                self._name = text.removeprefix("ref: refs/heads/") if text.startswith("ref:") else text[:7]
        except OSError:
            self._name = ""
        return self._name


def find_head(folder: Path) -> Path | None:
    """Return the file ``HEAD`` of the repository that `folder` is in, also of a linked working tree."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return git / "HEAD"
        if git.is_file():
            try:
                target = git.read_text(errors="replace").removeprefix("gitdir:").strip()
            except OSError:
                return None
            return (place / target / "HEAD").resolve()
    return None
