from __future__ import annotations

from pathlib import Path

from piolet.harness.session.session import Session
from piolet.llm.messages import NO_USAGE, AssistantMessage, ToolCall, UserMessage
from tests.modes.interactive.desk import opened
from tests.support.scripted_model import says


async def test_a_call_that_was_cut_off_tells_so_when_its_session_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "cwd").mkdir()
    session = Session.create(str(tmp_path / "cwd"), str(tmp_path))
    session.append_message(UserMessage("go", timestamp=1))
    call = ToolCall("c1", "bash", {"command": "sleep 77"})
    session.append_message(AssistantMessage([call], "api", "test", "m", NO_USAGE, "toolUse", timestamp=2))
    session.close()
    async with opened(tmp_path, says("Going on."), session=Path(session.path or "")) as desk:
        await desk.see("$ sleep 77")
        await desk.see("Interrupted: there is no result")
        await desk.ask("go on", "Going on.")
        assert desk.text.count("Interrupted: there is no result") == 1
