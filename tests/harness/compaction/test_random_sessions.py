"""Compaction of random sessions: no call is parted from its result, nothing is lost, a failure is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from piolet.harness.compaction import wording
from piolet.harness.compaction.cut import Projected, find_cut_point
from piolet.harness.compaction.estimate import project, sum_of_tokens
from piolet.harness.compaction.prepare import prepare
from piolet.harness.compaction.settings import CompactionSettings
from piolet.harness.errors import CompactionFailed, NothingToDo
from piolet.harness.messages import BashExecutionMessage
from piolet.harness.session.context import build_context
from piolet.harness.session.entries import CompactionEntry, Entry, MessageEntry, Replacement
from piolet.harness.session.session import Session
from piolet.llm.messages import (
    NO_USAGE,
    AssistantMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.stream import AssistantStream
from tests.harness.talk import Harness, check_request
from tests.support.scripted_model import Request, ScriptedModel, fails, says

#: Tokens of a text; few values, so that budgets are met exactly.
SIZES = st.sampled_from([1, 5, 10, 25, 100])


@dataclass(frozen=True)
class Step:
    """Something that a session takes in: a turn, or an entry by itself."""

    kind: str
    sizes: Sequence[int]
    number: int


KINDS = [*["tools"] * 4, *["turn"] * 3, "failed", "bash", "custom", "label", "state", "model", "compaction"]
KINDS += ["branch", "edit", "summary"]
steps = st.builds(Step, st.sampled_from(KINDS), st.lists(SIZES, min_size=3, max_size=5), st.integers(0, 10**6))
sessions = st.lists(steps, min_size=1, max_size=14)


def words(size: int) -> list[TextContent]:
    return [TextContent("abcd" * size)]


def answer(content: Sequence[Any], stop: Any = "stop") -> AssistantMessage:
    return AssistantMessage(content, "a", "p", "m", NO_USAGE, stop, 0)


def build(session: Session, plan: Sequence[Step]) -> None:
    for at, step in enumerate(plan):
        first, second, *rest = step.sizes
        match step.kind:
            case "turn":
                session.append_message(UserMessage(words(first), 0))
                session.append_message(answer(words(second)))
            case "tools":
                session.append_message(UserMessage(words(first), 0))
                for number, size in enumerate(rest):
                    calls = [ToolCall(f"c{at}-{number}-{n}", "read", {"path": f"f{n}"}) for n in range(1 + size % 3)]
                    session.append_message(answer([*words(second), *calls], "toolUse"))
                    for one in calls:
                        session.append_message(ToolResultMessage(one.id, "read", words(size), False, 0))
                session.append_message(answer(words(second)))
            case "failed":
                session.append_message(UserMessage(words(first), 0))
                failed = session.append_message(answer(words(second), "error"))
                if step.number % 2:
                    session.append_context_edit(failed, None)
            case "bash":
                session.append_message(BashExecutionMessage("ls", "abcd" * first, False, False, 0, 0))
            case "custom":
                session.append_custom_message("note", words(first), True)
            case "label" if session.leaf_id:
                session.append_label(session.leaf_id, "here")
            case "state":
                session.append_custom("state", first)
            case "model":
                session.append_model_change("p", f"m{step.number}")
            case "compaction":
                compact(session, CompactionSettings(True, 0, first))
            case "branch" if session.heads:
                session.branch(session.heads[step.number % len(session.heads)].id)
            case "summary":
                session.branch_with_summary(session.leaf_id, "abcd" * first)
            case "edit":
                users = [head for head in session.path_heads() if head.role == "user"]
                if users:
                    session.append_context_edit(users[step.number % len(users)].id, Replacement("shorter"))


def compact(session: Session, how: CompactionSettings) -> bool:
    plan = prepare(session.path_to(), how)
    if plan is None:
        return False
    session.append_compaction("SUMMARY", plan.first_kept_entry_id, plan.tokens_before)
    return True


def check_pairs(entries: Sequence[Entry]) -> None:
    """Fail unless every result stands behind its call."""
    open_calls: set[str] = set()
    for entry in entries:
        message = entry.message if isinstance(entry, MessageEntry) else None
        if isinstance(message, AssistantMessage):
            assert not open_calls, "an answer before the results of the last one"
            open_calls = {call.id for call in message.tool_calls}
        elif isinstance(message, ToolResultMessage):
            assert message.tool_call_id in open_calls, "a result without its call"
            open_calls.remove(message.tool_call_id)
        elif message is not None:
            assert not open_calls, "a question between a call and its result"


@settings(max_examples=100, deadline=None)
@given(sessions, SIZES)
def test_no_cut_parts_a_call_from_its_result(plan: Sequence[Step], keep: int) -> None:
    session = Session.in_memory("/")
    build(session, [step for step in plan if step.kind != "branch"])
    path = session.path_to()
    for start in range(len(path)):
        cut = find_cut_point(Projected.of(path), keep, start)
        first = path[cut.index] if cut.index < len(path) else None
        assert not (isinstance(first, MessageEntry) and isinstance(first.message, ToolResultMessage)) or (
            cut.index == start  # the range itself begins within a turn
        )


@settings(max_examples=100, deadline=None)
@given(sessions, SIZES)
def test_a_compaction_leaves_whole_turns_and_every_old_entry(plan: Sequence[Step], keep: int) -> None:
    session = Session.in_memory("/")
    build(session, plan)
    leaf = session.leaf_id
    before, context = session.entries, session.build_context()
    if not compact(session, CompactionSettings(True, 0, keep)):
        return
    after = session.build_context()
    if not any(step.kind == "branch" for step in plan):  # a branch may begin within a turn
        check_pairs([entry for entry in after.entries if not isinstance(entry, CompactionEntry)])
    assert session.entries[:-1] == before
    assert session.build_context(leaf) == context
    assert project(session.path_to()).messages[0].summary == "SUMMARY"  # type: ignore[union-attr]


@settings(max_examples=80, deadline=None)
@given(sessions, SIZES)
def test_what_is_summarized_and_what_is_kept_are_the_whole_context(plan: Sequence[Step], keep: int) -> None:
    session = Session.in_memory("/")
    build(session, [step for step in plan if step.kind not in ("compaction", "edit", "failed")])
    context = session.build_context().messages
    prepared = prepare(session.path_to(), CompactionSettings(True, 0, keep))
    if prepared is None:
        return
    given_away = [*prepared.messages_to_summarize, *prepared.turn_prefix_messages]
    compact(session, CompactionSettings(True, 0, keep))
    assert given_away + session.build_context().messages[1:] == context


@settings(max_examples=80, deadline=None)
@given(sessions, SIZES)
def test_a_compaction_keeps_about_what_it_should(plan: Sequence[Step], keep: int) -> None:
    session = Session.in_memory("/")
    build(session, [step for step in plan if step.kind not in ("branch", "edit", "failed", "compaction")])
    if not compact(session, CompactionSettings(True, 0, keep)):
        return
    path = session.path_to()[:-1]
    kept = session.build_context().messages[1:]
    largest = max(sum_of_tokens(Projected.of(path).messages[index]) for index in range(len(path)))
    assert sum_of_tokens(kept) < keep + 3 * largest  # the entry that fills the budget, with the answer of a result


@settings(max_examples=60, deadline=None)
@given(sessions, SIZES, st.booleans())
def test_a_compaction_by_hand_succeeds_or_changes_nothing_and_is_told(
    plan: Sequence[Step], keep: int, works: bool
) -> None:
    async def scenario() -> None:
        session = Session.in_memory("/")
        build(session, plan)
        summaries = [says("SUM") if works else fails("400: no")]
        talk = Harness(session=session, summaries=summaries, keep=keep, reserve=50, window=300)
        before = talk.stored()
        try:
            result = await talk.harness.compact()
        except (NothingToDo, CompactionFailed):
            assert talk.stored() == before
            assert talk.outline("compaction_end")[0].startswith("compaction_end manual Compaction failed")
        else:
            assert works
            assert result.estimated_tokens_after == sum_of_tokens(talk.harness.agent.messages)

    asyncio.run(scenario())


class Windowed:
    """Refuses what is longer than the window, and tells how much it was; writes summaries."""

    def __init__(self, window: int, *, works: bool) -> None:
        self.window, self.works = window, works
        self.requests: list[Request] = []

    def stream(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream:
        used = sum_of_tokens(context.messages)
        if context.system_prompt == wording.SYSTEM_PROMPT:
            reply = says("SUM") if self.works else fails("400: no")
        elif used > self.window:
            reply = fails(f"prompt is too long: {used} tokens > {self.window} maximum")
        else:
            self.requests.append(Request(model, context, options))
            reply = says("ok", tokens=(used, 1))
        return ScriptedModel(reply)(model, context, options)


@settings(max_examples=100, deadline=None)
@given(sessions, SIZES, st.booleans(), st.sampled_from([1, 50, 250]))
def test_a_question_is_answered_within_the_window_or_the_failure_is_told(
    plan: Sequence[Step], keep: int, works: bool, size: int
) -> None:
    async def scenario() -> None:
        session = Session.in_memory("/")
        build(session, plan)
        talk = Harness(session=session, keep=keep, reserve=50, window=300)
        talk.harness._models = model = Windowed(300, works=works)
        result = await talk.harness.prompt("abcd" * size)
        if result.outcome == "completed":
            assert sum_of_tokens(talk.harness.agent.messages) <= 301
        else:
            assert result.final is not None
            assert "prompt is too long" in (result.final.error_message or "")
        assert talk.lines[-1] == "agent_settled"
        for request in model.requests:
            check_request(request, branches=True)

    asyncio.run(scenario())


@settings(max_examples=80, deadline=None)
@given(sessions, SIZES)
def test_the_context_of_entries_is_that_of_the_session(plan: Sequence[Step], keep: int) -> None:
    session = Session.in_memory("/")
    build(session, plan)
    for leaf in [*(head.id for head in session.heads), None]:
        mine, pure = session.build_context(leaf), build_context(session.entries, leaf)
        assert (mine.messages, mine.kept, mine.settled, mine.model) == (
            pure.messages,
            pure.kept,
            pure.settled,
            pure.model,
        )
