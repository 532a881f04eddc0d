"""Words that begin with # are completed with the open issues of the repository, as `gh` lists them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from piolet.ext import CompletionSources, ExtensionAPI, ExtensionContext, Suggestion


def extension(pi: ExtensionAPI) -> None:
    known: list[Suggestion] | None = None

    async def issues(typed: str) -> Sequence[Suggestion]:
        nonlocal known
        if known is None:  # asked for once, at the first #
            found = await pi.exec("gh", ["issue", "list", "--limit", "100", "--json", "number,title"], timeout=10)
            rows = json.loads(found.stdout) if found.code == 0 else []
            known = [Suggestion(f"#{row['number']} ", f"#{row['number']}", row["title"]) for row in rows]
        return [one for one in known if typed in one.label or typed.lower() in one.description.lower()]

    def wrap(sources: CompletionSources) -> CompletionSources:
        return replace(sources, triggers={**sources.triggers, "#": issues})

    @pi.on("session_start")
    def start(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.add_autocomplete_provider(wrap)
