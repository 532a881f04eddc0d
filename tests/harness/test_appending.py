"""Entries that are no part of a run: at once, at the end of the turn, at the end of the run."""

from __future__ import annotations

from typing import Any

from piolet.harness.drafts import ContextEditDraft, CustomDraft, CustomMessageDraft, LabelDraft
from piolet.harness.messages import CustomMessage
from piolet.harness.session.errors import SessionError
from tests.harness.talk import Harness
from tests.support.scripted_model import call, says


async def test_entries_are_appended_at_once_while_idle() -> None:
    talk = Harness(says("one"))
    await talk.harness.prompt("go")
    user = talk.harness.session.heads[0].id
    for draft in (
        CustomDraft("state", {"n": 1}),
        LabelDraft(user, "start"),
        CustomMessageDraft("note", "seen"),
        ContextEditDraft(user, "changed"),
    ):
        assert await talk.harness.append(draft) == talk.harness.session.leaf_id
    assert talk.stored() == ["user: changed", "assistant: one", "custom: seen"]
    assert talk.harness.session.labels[user].text == "start"
    talk.check()


async def test_what_the_model_sees_waits_for_the_end_of_the_turn_and_what_may_wait_for_the_end_of_the_run() -> None:
    talk = Harness(says(call("echo", text="x")), says("Done."))

    async def write(event: Any) -> None:
        if event.type == "tool_execution_end":
            assert await talk.harness.append(CustomMessageDraft("note", "idle"), when="idle") is None
            assert await talk.harness.append(CustomMessage("note", "turn", True, 0)) is None
            assert await talk.harness.append(CustomDraft("state", 1)) is not None

    talk.harness.subscribe(write)
    await talk.harness.prompt("go")
    assert talk.stored() == [
        "user: go",
        "assistant: ",
        "toolResult: x",
        "custom: turn",
        "assistant: Done.",
        "custom: idle",
    ]
    talk.check()


async def test_an_entry_that_cannot_be_stored_is_refused_at_once() -> None:
    talk = Harness(says(call("echo")), says("Done."))
    refused: list[str] = []

    async def write(event: Any) -> None:
        if event.type == "tool_execution_start":
            for draft in (ContextEditDraft("nowhere"), CustomMessageDraft("note", "x", details=object())):
                try:
                    await talk.harness.append(draft)
                except SessionError as error:
                    refused.append(str(error))

    talk.harness.subscribe(write)
    assert (await talk.harness.prompt("go")).outcome == "completed"
    assert len(refused) == 2


async def test_an_entry_that_became_impossible_while_it_waited_is_reported_and_the_rest_goes_on() -> None:
    talk = Harness(says("one"), says(call("echo")), says("Done."))
    await talk.harness.prompt("go")
    old = talk.harness.session.leaf_id
    assert old is not None

    async def write(event: Any) -> None:
        if event.type == "tool_execution_start":
            await talk.harness.append(ContextEditDraft(old, "changed"))
            await talk.harness.append(CustomMessageDraft("note", "fine"))
            talk.harness.session.branch(talk.harness.session.heads[0].id)

    talk.harness.subscribe(write)
    await talk.harness.prompt("go on")
    assert [(failure.hook, type(failure.error).__name__) for failure in talk.failures] == [("append", "InvalidEntry")]
    assert "custom: fine" in talk.stored()
