"""The operations of a harness: what each gives, and when it is refused."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.drafts import CustomDraft, CustomMessageDraft
from piolet.harness.errors import HarnessBusy, HarnessClosed, NothingToDo, UnknownTarget
from piolet.harness.events import AgentSettled
from piolet.harness.messages import CustomMessage
from piolet.harness.prompt.parts import PromptParts
from piolet.harness.prompt.records import Skill
from piolet.harness.prompt.templates import PromptTemplate
from piolet.harness.session.errors import NotSaved, SessionError
from piolet.harness.session.session import Session
from piolet.harness.sync import run_sync
from piolet.llm.messages import AssistantMessage, ImageContent, UserMessage, text_of
from piolet.llm.model import StreamOptions
from tests.agent.conversation import tool
from tests.harness.talk import Harness
from tests.support.run import ROOT
from tests.support.scripted_model import MODEL, call, fails, hangs, says
from tests.support.timing import until
from tests.support.virtual_time import run_jumping

# ---- runs


async def test_a_prompt_with_images_is_one_message() -> None:
    talk = Harness(says("A cat."))
    image = ImageContent("aGk=", "image/png")
    result = await talk.harness.prompt("What is this?", [image])
    assert result.text == "A cat."
    assert result.messages[0].content[1] == image  # type: ignore[attr-defined]


async def test_a_prompt_without_a_message_is_refused() -> None:
    talk = Harness(says("never"))
    with pytest.raises(NothingToDo):
        await talk.harness.prompt([])
    assert talk.events == []


async def test_the_result_holds_the_messages_of_all_agent_runs() -> None:
    talk = Harness(fails("503: overloaded"), says("Done."))
    talk.harness.retry = replace(talk.harness.retry, base_delay_ms=1)
    result = await talk.harness.prompt("go")
    assert [message.role for message in result.messages] == ["user", "assistant", "assistant"]
    assert result.final is result.messages[-1]


@pytest.mark.parametrize("ending", [fails("401: no"), hangs("par")], ids=["failed", "aborted"])
async def test_continue_asks_again_after_an_answer_that_did_not_come(ending: Any) -> None:
    talk = Harness(ending, says("Done."))
    off = talk.harness.subscribe(lambda event: talk.harness.request_abort() if event.type == "message_update" else None)
    await talk.harness.prompt("go")
    off()
    result = await talk.harness.continue_()
    assert result.text == "Done."
    assert talk.sent() == ["user: go"]
    assert talk.stored() == ["user: go", "assistant: Done."]
    assert talk.entries() == ["user", "assistant", "context_edit", "assistant"]
    talk.check()


async def test_continue_works_in_a_session_that_was_opened_again(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), str(tmp_path))
    talk = Harness(says("one", call("echo", text="x")), fails("401: no"), session=session)
    await talk.harness.prompt("go")
    await talk.harness.close()
    assert session.path is not None
    again = Harness(says("Done."), session=Session.open(session.path))
    assert (await again.harness.continue_()).text == "Done."
    assert again.sent() == ["user: go", "assistant: one", "toolResult: x"]
    await again.harness.close()


async def test_continue_delivers_what_is_queued() -> None:
    talk = Harness(says("one"), says("two"), says("three"))
    await talk.harness.prompt("go")
    await talk.harness.follow_up("later")
    await talk.harness.steer("sooner")
    await talk.harness.continue_()
    assert talk.stored()[2:] == ["user: sooner", "assistant: two", "user: later", "assistant: three"]


async def test_continue_is_refused_where_there_is_nothing_to_answer() -> None:
    talk = Harness(says("one"))
    with pytest.raises(NothingToDo):
        await talk.harness.continue_()
    await talk.harness.prompt("go")
    with pytest.raises(NothingToDo):
        await talk.harness.continue_()


async def test_messages_queued_while_idle_wait_for_the_next_prompt() -> None:
    talk = Harness(says("one"), says("two"))
    await talk.harness.follow_up("later")
    await talk.harness.steer("sooner")
    talk.harness.next_turn("beside")
    await talk.harness.prompt("go")
    assert talk.stored() == [
        "user: go",
        "user: beside",
        "user: sooner",
        "assistant: one",
        "user: later",
        "assistant: two",
    ]


async def test_clear_queue_hands_back_what_waited() -> None:
    talk = Harness(says("one"))
    await talk.harness.steer("a")
    await talk.harness.follow_up("b")
    talk.harness.next_turn("c")
    cleared = await talk.harness.clear_queue()
    queues = (cleared.steering, cleared.follow_up, cleared.next_turn)
    assert [[text_of(m.content) for m in queue] for queue in queues] == [["a"], ["b"], ["c"]]  # type: ignore[attr-defined]
    await talk.harness.prompt("go")
    assert talk.stored() == ["user: go", "assistant: one"]


async def test_a_stream_gives_every_event_up_to_the_settled_run() -> None:
    talk = Harness(says("one"))
    seen = [event async for event in talk.harness.stream("go")]
    assert seen == talk.events
    assert isinstance(seen[-1], AgentSettled)


async def test_a_stream_of_a_busy_harness_is_refused_before_its_first_event() -> None:
    talk = Harness(hangs("one"))
    run = asyncio.create_task(talk.harness.prompt("go"))
    await until(lambda: talk.events)
    with pytest.raises(HarnessBusy, match="a run"):
        await anext(talk.harness.stream("me too"))
    await talk.harness.abort()
    await run


async def test_a_stream_ends_with_its_own_run_though_a_handler_starts_the_next() -> None:
    talk = Harness(says("one"), hangs("two"))
    following: list[asyncio.Task[Any]] = []

    async def again(event: Any) -> None:
        if event.type == "agent_settled" and not following:
            following.append(asyncio.create_task(talk.harness.prompt("again")))
            await asyncio.sleep(0)

    talk.harness.subscribe(again)
    seen = [event async for event in talk.harness.stream("go")]
    assert [event.type for event in seen].count("agent_settled") == 1
    assert seen[-1].type == "agent_settled"
    await talk.harness.abort()
    await following[0]


async def test_a_cancelled_reader_of_a_stream_is_cancelled_and_the_run_settles() -> None:
    talk = Harness(hangs("one"))

    async def read() -> None:
        async for _ in talk.harness.stream("go"):
            pass

    reader = asyncio.create_task(read())
    await until(lambda: talk.outline("message_update"))
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await talk.harness.wait_idle()
    assert talk.events[-1].aborted


async def test_a_task_group_that_fails_aborts_the_run() -> None:
    talk = Harness(hangs("one"))

    async def fail() -> None:
        await until(lambda: talk.outline("message_update"))
        raise ValueError("elsewhere")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(talk.harness.prompt("go"))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup):
        await both()
    await talk.harness.wait_idle()
    assert talk.events[-1].aborted
    talk.check()


async def test_a_second_run_is_refused_and_names_what_is_under_way() -> None:
    talk = Harness(hangs("one"))
    run = asyncio.create_task(talk.harness.prompt("go"))
    await until(lambda: talk.model.requests)
    with pytest.raises(HarnessBusy, match="a run is under way"):
        await talk.harness.prompt("me too")
    await talk.harness.abort()
    await run
    assert talk.stored() == ["user: go", "assistant: one"]


async def test_a_caller_with_a_deadline_is_back_in_time_and_the_run_settles_by_itself() -> None:
    talk = Harness(hangs("one"), says("two"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await talk.harness.prompt("go")
    await talk.harness.wait_idle()
    assert talk.events[-1].aborted
    await talk.harness.prompt("again")
    kept = talk.harness.agent.messages
    assert [m.role for m in kept if not isinstance(m, AssistantMessage)] == ["user", "user"]
    assert [m.stop_reason for m in kept if isinstance(m, AssistantMessage)] == ["aborted", "stop"]
    assert isinstance(kept[0], UserMessage)


async def test_leaving_a_stream_early_aborts_the_run() -> None:
    talk = Harness(hangs("one"))
    async for event in talk.harness.stream("go"):
        if event.type == "message_update":
            break
    await asyncio.sleep(0)
    await talk.harness.wait_idle()
    assert talk.events[-1].type == "agent_settled"
    assert talk.events[-1].aborted


# ---- skills, templates


async def test_a_skill_is_called_by_name(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_text("---\nname: knots\ndescription: Ties.\n---\nTie it.\n")
    skill = Skill("knots", "Ties.", str(file), str(tmp_path))
    talk = Harness(says("Tied."), skills=[skill])
    await talk.harness.skill("knots", "tightly")
    sent = talk.sent()[0]
    assert "Tie it." in sent
    assert sent.endswith("tightly")


@pytest.mark.parametrize("broken", ["absent", "not text"])
async def test_a_skill_that_is_not_there_is_refused(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "SKILL.md"
    if broken == "not text":
        file.write_bytes(b"\xff\xfe\xff")
    talk = Harness(says("never"), skills=[Skill("knots", "Ties.", str(file), str(tmp_path))])
    with pytest.raises(UnknownTarget, match="nosuch"):
        await talk.harness.skill("nosuch")
    with pytest.raises(UnknownTarget, match=r"SKILL\.md"):
        await talk.harness.skill("knots")
    assert talk.model.requests == []


async def test_the_skills_of_the_constructor_are_offered_unless_the_prompt_has_its_own(tmp_path: Path) -> None:
    skill = Skill("knots", "Ties.", "/k/SKILL.md", "/k")
    own = Skill("sails", "Sets.", "/s/SKILL.md", "/s")
    read = tool("read", _nothing)
    for prompt, offered in ((None, "knots"), (PromptParts("Base."), "knots"), (PromptParts(skills=[own]), "sails")):
        talk = Harness(skills=[skill], prompt=prompt, tools=[read])
        text, _ = await talk.harness.build_prompt()
        assert offered in text
        assert ("knots" in text) == (offered == "knots")


async def _nothing(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
    return ToolResult.of_text("")


async def test_a_template_is_filled_in_and_sent() -> None:
    talk = Harness(says("ok"), templates=[PromptTemplate("fix", "Fixes.", "Fix $1 in $2.")])
    await talk.harness.template("fix", 'bugs "my file"')
    assert talk.sent() == ["user: Fix bugs in my file."]
    with pytest.raises(UnknownTarget):
        await talk.harness.template("nosuch")


# ---- one thing at a time


async def test_every_other_operation_is_refused_during_a_run_and_names_it() -> None:
    talk = Harness(says("one"), hangs("two"))
    await talk.harness.prompt("go")
    target = talk.harness.session.heads[0].id
    run = asyncio.create_task(talk.harness.prompt("go on"))
    await until(lambda: len(talk.model.requests) == 2)
    assert talk.harness.operation == "a run"
    for refused in (talk.harness.prompt("x"), talk.harness.continue_(), talk.harness.navigate_tree(target)):
        with pytest.raises(HarnessBusy, match="while a run is under way"):
            await refused
    assert talk.harness.session.heads[-1].role == "user"
    await talk.harness.abort()
    await run
    assert talk.harness.operation is None


async def test_a_run_is_refused_during_a_compaction_and_names_it() -> None:
    talk = Harness(says("x" * 400), says("y" * 400), summaries=[hangs("SUM")])
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    compaction = asyncio.create_task(talk.harness.compact())
    await until(lambda: talk.harness.is_compacting)
    with pytest.raises(HarnessBusy, match="while a compaction is under way"):
        await talk.harness.prompt("three")
    await talk.harness.abort()
    await asyncio.gather(compaction, return_exceptions=True)


async def test_waiting_for_ones_own_run_is_an_error_and_no_deadlock() -> None:
    talk = Harness(says("one"))
    refusals: list[str] = []

    async def wait(event: Any) -> None:
        if event.type == "agent_start":
            for waiting in (talk.harness.wait_idle, talk.harness.close):
                try:
                    await waiting()
                except HarnessBusy as error:
                    refusals.append(str(error))

    talk.harness.subscribe(wait)
    assert (await talk.harness.prompt("go")).text == "one"
    assert len(refusals) == 2


async def test_idle_harnesses_hold_no_task_and_no_thread() -> None:
    tasks, threads = asyncio.all_tasks(), threading.active_count()
    talks = [Harness(says("Hi.")) for _ in range(50)]
    await asyncio.gather(*(talk.harness.prompt("go") for talk in talks))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() == threads


# ---- settings


async def test_a_change_of_the_model_is_stored_told_and_fits_the_level() -> None:
    thinker = replace(MODEL, id="thinker", reasoning=True)
    talk = Harness()
    await talk.harness.set_model(thinker)
    await talk.harness.set_thinking_level("high")
    await talk.harness.set_thinking_level("high")
    await talk.harness.set_model(MODEL, "cycle")
    assert talk.entries() == ["model_change", "thinking_level_change", "model_change", "thinking_level_change"]
    assert [event.type for event in talk.events] == [
        "model_select",
        "thinking_level_select",
        "model_select",
        "thinking_level_select",
    ]
    assert (talk.events[2].source, talk.events[2].previous_model) == ("cycle", thinker)
    assert talk.harness.thinking_level == "off"


async def test_a_change_that_cannot_be_stored_is_not_made(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), str(tmp_path))
    talk = Harness(says("one"), session=session)
    await talk.harness.prompt("go")
    await talk.harness.close()
    assert session.path is not None
    talk = Harness(session=Session.open(session.path, read_only=True))
    before = talk.harness.model
    with pytest.raises(SessionError):
        await talk.harness.set_model(replace(MODEL, id="other"))
    assert talk.harness.model == before
    assert talk.events == []


async def test_options_that_are_changed_count_for_the_next_run() -> None:
    talk = Harness(says("one"), says("two"), options=StreamOptions(temperature=0.1))
    await talk.harness.prompt("go")
    talk.harness.options = StreamOptions(temperature=0.9)
    await talk.harness.prompt("go")
    assert [request.options.temperature for request in talk.model.requests] == [0.1, 0.9]


async def test_tools_are_offered_in_the_order_asked_for_and_unknown_ones_left_out() -> None:
    a, b = tool("a", _nothing), tool("b", _nothing)
    talk = Harness(says("one"), tools=[a, b])
    talk.harness.set_active_tools(["b", "nosuch", "a", "b"])
    await talk.harness.prompt("go")
    assert talk.harness.active_tools == ("b", "a")
    assert [spec.name for spec in talk.model.requests[0].context.tools] == ["b", "a"]
    talk.harness.set_tools([a])
    assert talk.harness.active_tools == ("a",)


# ---- copies


async def test_a_fork_is_a_new_session_and_the_harness_keeps_its_own(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), str(tmp_path))
    talk = Harness(says("one"), says("two"), session=session)
    await talk.harness.prompt("first")
    await talk.harness.prompt("second")
    users = [head.id for head in session.heads if head.role == "user"]
    forked, whole = talk.harness.fork(users[1]), talk.harness.fork(session.leaf_id or "", "at")
    assert [m.role for m in forked.build_context().messages] == ["user", "assistant"]
    assert len(whole.build_context().messages) == 4
    assert forked.header.parent_session == session.path
    assert talk.harness.session is session
    assert {forked.path, whole.path, session.path} == {str(path) for path in tmp_path.glob("*.jsonl")}
    with pytest.raises(SessionError):
        talk.harness.fork(session.leaf_id or "")
    for one in (forked, whole):
        one.close()
    await talk.harness.close()


@pytest.mark.parametrize("position", ["before", "at"])
async def test_a_session_without_a_file_cannot_be_forked_yet(tmp_path: Path, position: Any) -> None:
    talk = Harness(fails("401: no"), session=Session.create(str(tmp_path), str(tmp_path)))
    await talk.harness.prompt("first")
    await talk.harness.append(CustomMessageDraft("note", "x"))
    talk.model.replies[1:] = [fails("401: no")]
    await talk.harness.prompt("second")
    target = [head.id for head in talk.harness.session.heads if head.role == "user"][-1]
    with pytest.raises(NotSaved):
        talk.harness.fork(target, position)


# ---- stats and closing


async def test_stats_count_all_branches_and_the_window_of_this_one() -> None:
    talk = Harness(says("one", tokens=(100, 10)), says("two", tokens=(50, 10)), window=1000)
    await talk.harness.prompt("first")
    await talk.harness.navigate_tree(talk.harness.session.heads[0].id)
    await talk.harness.prompt("other")
    stats = talk.harness.stats()
    assert stats.totals.user_messages == 2
    assert stats.context is not None
    assert (stats.context.tokens, stats.context.window, stats.context.percent) == (60, 1000, 6.0)


async def test_close_aborts_settles_and_refuses_everything_afterwards(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), str(tmp_path))
    talk = Harness(hangs("one"), session=session)
    run = asyncio.create_task(talk.harness.prompt("go"))
    await until(lambda: talk.outline("message_update"))
    await asyncio.gather(talk.harness.close(), talk.harness.close())
    assert (await run).outcome == "aborted"
    assert talk.lines[-1] == "agent_settled"
    await talk.harness.close()
    for refused in (
        talk.harness.prompt("x"),
        talk.harness.continue_(),
        talk.harness.steer("x"),
        talk.harness.compact(),
        talk.harness.append(CustomDraft("x")),
        talk.harness.set_model(MODEL),
        talk.harness.navigate_tree("x"),
    ):
        with pytest.raises(HarnessClosed):
            await refused
    with pytest.raises(HarnessClosed):
        talk.harness.next_turn("x")


async def test_close_stores_what_waited_and_tells_if_it_could_not(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), str(tmp_path))
    talk = Harness(says("one"), session=session)
    await talk.harness.prompt("go")
    assert session.path is not None
    path = Path(session.path)
    talk.harness.next_turn(CustomMessage("note", "waited", True, 0))
    path.rename(path.with_suffix(".away"))
    path.mkdir()
    with pytest.raises(SessionError):
        await talk.harness.close()
    with pytest.raises(HarnessClosed):
        await talk.harness.prompt("x")


def test_close_does_not_wait_for_a_run_that_a_handler_of_the_end_would_start() -> None:
    async def scenario() -> None:
        talk = Harness(hangs("one"), hangs("two"))
        refused: list[Exception] = []

        async def again(event: Any) -> None:
            if event.type == "agent_settled":
                await talk.harness.append(CustomDraft("state", "kept"))
                try:
                    await talk.harness.prompt("again")
                except HarnessClosed as error:
                    refused.append(error)

        talk.harness.subscribe(again)
        run = asyncio.create_task(talk.harness.prompt("go"))
        await asyncio.sleep(1)
        await talk.harness.close()
        await run
        assert len(refused) == 1
        assert talk.entries()[-1] == "custom"

    run_jumping(scenario())


# ---- without an event loop


def test_run_sync_answers_code_without_an_event_loop() -> None:
    talk = Harness(says("one"), says("two"))
    assert talk.harness.run_sync("go").text == "one"
    assert talk.harness.run_sync("go on").text == "two"
    run_sync(talk.harness.close())


async def test_run_sync_works_under_a_running_event_loop_as_in_a_notebook() -> None:
    talk = Harness(says("one"))
    assert talk.harness.run_sync("go").text == "one"


def test_run_sync_of_several_threads_share_one_event_loop() -> None:
    talks = [Harness(says("one", delay=0.01)) for _ in range(8)]
    results: list[str] = []
    threads = [threading.Thread(target=lambda t=t: results.append(t.harness.run_sync("go").text)) for t in talks]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert results == ["one"] * 8
    assert len([thread for thread in threading.enumerate() if thread.name == "piolet-sync"]) == 1


def test_run_sync_works_in_a_forked_process() -> None:
    script = """
import asyncio, os
from piolet.harness.sync import run_sync
async def work(): return "ok"
assert run_sync(work()) == "ok"
if (child := os.fork()) == 0:
    print(run_sync(work()), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert done.stdout == "ok\n"


def test_run_sync_inside_its_own_loop_is_refused() -> None:
    talk = Harness(says(call("again")), says("Done."))

    async def again(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        talk.harness.run_sync("me too")
        return ToolResult.of_text("never")

    talk.harness.set_tools([tool("again", again)], ["again"])
    talk.harness.run_sync("go")
    assert "run_sync was called inside its own event loop" in talk.stored()[2]
