"""A disk that takes no more: the run stops, its caller is told, nothing that waited is lost, the next prompt works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.messages import BashExecutionMessage, CustomMessage
from piolet.harness.session.errors import SessionError
from piolet.harness.session.session import Session
from tests.agent.conversation import tool
from tests.harness.talk import HISTORY, Harness, told_message
from tests.support.scripted_model import call, says


@pytest.fixture
def stored(tmp_path: Path) -> Session:
    return Session.create(str(tmp_path), str(tmp_path / "sessions"))


class FullDisk:
    """Makes the file of a session unwritable for what is under way, by way of the file itself."""

    def __init__(self, session: Session) -> None:
        assert session.path is not None
        self.path = session.path
        self.moved = self.path + ".away"

    def fill(self) -> None:
        """Put a folder where the file was: no append can succeed."""
        os.rename(self.path, self.moved)
        os.mkdir(self.path)

    def free(self) -> None:
        os.rmdir(self.path)
        os.rename(self.moved, self.path)


@pytest.mark.parametrize("when", ["message_update", "tool_execution_start", "turn_end", "agent_end"])
async def test_a_disk_that_refuses_stops_the_run_and_the_caller_is_told(stored: Session, when: str) -> None:
    replies = [says("one"), says(call("echo", text="x")), says("two"), says("three")]
    talk = Harness(*replies, session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)
    done: list[bool] = []

    def fill(event: Any) -> None:
        if event.type == when and not done:
            done.append(True)
            disk.fill()

    unsubscribe = talk.harness.subscribe(fill)
    if when == "agent_end":
        await talk.harness.prompt("go")  # everything was stored before
    else:
        with pytest.raises(SessionError):
            await talk.harness.prompt("go")
        assert talk.lines[-1] == "agent_settled"
    unsubscribe()
    disk.free()
    assert (await talk.harness.prompt("again")).outcome == "completed"
    talk.check()
    await talk.harness.close()
    with Session.open(disk.path) as again:
        assert not again.problems
        texts = [told_message(message) for message in again.build_context().messages]
        assert texts[:2] == ["user: first", "assistant: one"]
        assert "user: again" in texts


async def test_a_question_that_cannot_be_stored_is_refused_and_nothing_is_asked(stored: Session) -> None:
    talk = Harness(says("one"), says("two"), session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)
    disk.fill()
    with pytest.raises(SessionError):
        await talk.harness.prompt("go")
    assert len(talk.model.requests) == 1
    disk.free()
    assert (await talk.harness.prompt("again")).text == "two"
    assert [text for text in talk.stored() if "go" in text] == []


async def test_messages_that_were_queued_are_not_lost_when_the_disk_refuses(stored: Session) -> None:
    talk = Harness(says("one"), says(call("echo")), says("three"), says("four"), session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)

    async def act(event: Any) -> None:
        if event.type == "tool_execution_end":
            await talk.harness.steer("sooner")
            await talk.harness.follow_up("later")
        elif event.type == "turn_end" and event.tool_results:
            disk.fill()

    unsubscribe = talk.harness.subscribe(act)
    with pytest.raises(SessionError):
        await talk.harness.prompt("go")
    unsubscribe()
    talk.harness.next_turn("beside")
    with pytest.raises(SessionError):
        await talk.harness.prompt("refused")
    disk.free()
    await talk.harness.prompt("again")
    users = [text for text in talk.stored() if text.startswith("user")]
    assert users == ["user: first", "user: go", "user: again", "user: beside", "user: sooner", "user: later"]
    talk.check()


async def test_a_compaction_that_cannot_be_stored_is_told_as_failed_and_stops_the_run(stored: Session) -> None:
    talk = Harness(*HISTORY, says("Done.", tokens=(99_500, 0)), says("more"), session=stored)
    await talk.harness.prompt("one")
    await talk.harness.prompt("two")
    disk = FullDisk(stored)
    talk.harness.subscribe(lambda event: disk.fill() if event.type == "compaction_start" else None)
    with pytest.raises(SessionError):
        await talk.harness.prompt("three")
    assert len(talk.outline("compaction_end")) == 1
    assert "Auto-compaction failed" in talk.outline("compaction_end")[0]
    assert not talk.harness.is_compacting
    disk.free()


async def test_what_waited_for_the_end_of_a_run_is_not_lost_when_the_disk_refuses(stored: Session) -> None:
    talk = Harness(says("one"), says("two"), says("three"), session=stored)
    await talk.harness.prompt("first")
    disk = FullDisk(stored)
    command = BashExecutionMessage("ls", "a", cancelled=False, truncated=False, timestamp=0, exit_code=0)

    async def act(event: Any) -> None:
        if event.type == "turn_end" and not os.path.isdir(disk.path):
            await talk.harness.append(command, when="idle")
            disk.fill()

    unsubscribe = talk.harness.subscribe(act)
    with pytest.raises(SessionError):
        await talk.harness.prompt("go")
    unsubscribe()
    disk.free()
    await talk.harness.prompt("again")
    assert [text for text in talk.stored() if text.startswith("bash")] == ["bashExecution: "]


async def test_details_without_a_json_form_stop_the_run_with_a_word_about_them() -> None:
    async def odd(id: str, arguments: dict[str, Any], signal: AbortSignal, update: OnUpdate) -> ToolResult:
        return ToolResult.of_text("x", details={"path": Path("/")})

    talk = Harness(says(call("odd")), says("never"), says("Done."), tools=[tool("odd", odd)])
    with pytest.raises(SessionError, match="PosixPath"):
        await talk.harness.prompt("go")
    assert talk.lines[-1] == "agent_settled"
    assert talk.lines.count("agent_end") == 1
    talk.model.replies[1:] = [says("Done.")]
    assert (await talk.harness.prompt("again")).text == "Done."


async def test_a_queued_message_that_can_never_be_stored_fails_one_run_and_not_the_next() -> None:
    talk = Harness(says("one"), says("two"), says("three"))
    await talk.harness.steer(CustomMessage("note", "x", True, 0, details=object()))
    with pytest.raises(SessionError, match="object has no JSON form"):
        await talk.harness.prompt("go")
    assert (await talk.harness.prompt("again")).outcome == "completed"
