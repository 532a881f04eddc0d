"""How full the window is, known from the messages at hand; and what a turn costs in a long session: nothing more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from piolet.harness.compaction.estimate import sum_of_tokens
from piolet.harness.drafts import ContextEditDraft
from piolet.harness.messages import SystemMessage
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.session.entries import Entry
from piolet.harness.session.index import Head, Index
from piolet.harness.session.log import EntryLog
from piolet.harness.session.session import Session
from piolet.harness.session.storage import Text
from piolet.llm.messages import NO_USAGE, AssistantMessage, TextContent, UserMessage
from tests.harness.talk import Harness
from tests.support.scripted_model import call, fails, says


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count how many entries are decoded, and how many heads a path is made of."""
    counts: Counter[str] = Counter()
    entry, path = EntryLog._entry, Index.path

    def decode(log: EntryLog, text: Text, head: Head) -> Entry:
        counts["decoded"] += 1
        return entry(log, text, head)

    def walk(index: Index, leaf: str | None) -> object:
        found = path(index, leaf)
        counts["paths"] += 1
        return found

    with monkeypatch.context() as patch:
        patch.setattr(EntryLog, "_entry", decode)
        patch.setattr(Index, "path", walk)
        yield counts


def long_session(turns: int = 1000) -> Session:
    session = Session.in_memory("/")
    for number in range(turns):
        session.append_message(UserMessage(f"question {number}", 0))
        last = session.append_message(AssistantMessage([TextContent("answer")], "a", "p", "m", NO_USAGE, "stop", 0))
        if number % 50 == 49:
            session.append_compaction("SUMMARY", last, 10)
    return session


async def test_a_turn_looks_at_no_entry_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [says(call("echo", f"c{n}", text="x"), tokens=(100, 5)) for n in range(5)]
    talk = Harness(*turns, says("Done.", tokens=(100, 5)), session=long_session())
    with counting(monkeypatch) as counts:
        await talk.harness.prompt("go")
        talk.harness.stats()
    assert counts == {}
    talk.check()


async def test_the_context_is_built_from_nothing_but_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session = long_session()
    with counting(monkeypatch) as counts:
        talk = Harness(session=session)
    assert counts["decoded"] == len(talk.harness.agent.messages) == 2


async def test_a_usage_that_a_provider_told_stands_for_everything_before_it() -> None:
    talk = Harness(says("x" * 400, tokens=(70, 7)))
    await talk.harness.prompt("go")
    assert talk.harness.context.estimate().tokens == 77
    await talk.harness.steer("y" * 40)
    talk.model.last = fails("401: no")
    await talk.harness.prompt("z" * 40)
    assert talk.harness.context.estimate().tokens == 77 + 10 + 10


async def test_after_a_context_edit_everything_is_estimated_until_a_provider_tells_again() -> None:
    prompt = PromptParts(base="P" * 4000)
    talk = Harness(says("x" * 400, tokens=(70, 7)), says("ok", tokens=(60, 1)), prompt=prompt)
    await talk.harness.prompt("go")
    await talk.harness.append(ContextEditDraft(talk.harness.session.heads[0].id, "shorter"))
    estimate = talk.harness.context.estimate()
    assert estimate.last_usage_index is None
    assert estimate.tokens > sum_of_tokens(talk.harness.agent.messages) + 1000  # the prompt and the tools too
    await talk.harness.prompt("go on")
    assert talk.harness.context.estimate().tokens == 61


async def test_prompts_that_are_stored_in_files_of_pi_are_no_part_of_the_context() -> None:
    session = Session.in_memory("/")
    session.append_message(SystemMessage("You are pi.", 0))
    session.append_message(UserMessage("go", 0))
    talk = Harness(says("ok"), session=session)
    await talk.harness.prompt("go on")
    assert talk.sent() == ["user: go", "user: go on"]
    assert [message.role for message in talk.harness.agent.messages] == ["user", "user", "assistant"]
