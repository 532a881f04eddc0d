"""The search of the session picker."""

from __future__ import annotations

from typing import Any

from piolet.base.ids import parse_time
from piolet.harness.session.listing import SessionInfo
from piolet.harness.session.picker import search
from tests.conformance.sessions.vectors import Matcher, expand


def picker_search(vector: dict[str, Any]) -> None:
    given = expand(vector["input"])
    infos = [
        SessionInfo(
            path=session.get("path", f"/{session['id']}.jsonl"),
            id=session["id"],
            cwd=session.get("cwd", ""),
            created=0,
            modified=parse_time(session.get("modified")) or 0,
            message_count=session.get("messageCount", 0),
            first_message=session.get("firstMessage", ""),
            all_messages_text=session.get("allMessagesText", ""),
            name=session.get("name"),
        )
        for session in given["sessions"]
    ]
    found = search(infos, given["query"], given.get("sortMode", "relevance"), given.get("nameFilter", "all"))
    Matcher().match({"ids": [info.id for info in found]}, vector["expected"])


OPS = {"search": picker_search}
