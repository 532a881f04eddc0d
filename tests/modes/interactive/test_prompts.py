from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.desk import opened
from tests.support.scripted_model import call, hangs, says, thinking


async def test_a_prompt_is_shown_and_answered(tmp_path: Path) -> None:
    async with opened(tmp_path, says("# Title\n\nSome *text*.")) as desk:
        await desk.ask("hello", "Some text.")
        assert " hello" in desk.rows
        assert " Title" in desk.rows
        assert desk.draft == ""


async def test_tools_have_cards(tmp_path: Path) -> None:
    replies = says("I look.", call("bash", command="echo out; exit 3")), says("Done.")
    async with opened(tmp_path, *replies) as desk:
        await desk.ask("go", "Done.")
        assert "$ echo out; exit 3" in desk.text
        assert "Command exited with code 3" in desk.text


async def test_thinking_is_shown_hidden_and_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, says(thinking("Deep thought"), "Answer.")) as desk:
        await desk.ask("go", "Answer.")
        assert "Deep thought" in desk.text
        desk.key("ctrl+t")
        await desk.see("Thinking...")
        assert "Deep thought" not in desk.text
        desk.key("ctrl+t")
        await desk.see("Deep thought")


async def test_escape_aborts_and_what_was_queued_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path, hangs("Endless")) as desk:
        await desk.submit("go")
        await desk.see("Endless")
        await desk.submit("and this")
        await desk.see("Steering: and this")
        await desk.submit("later", "alt+enter")
        await desk.see("Follow-up: later")
        desk.key("escape")
        await desk.see("Operation aborted")
        await desk.until(lambda: desk.draft == "and this\n\nlater")
        assert "Steering" not in desk.text


async def test_steering_is_delivered_after_the_tools(tmp_path: Path) -> None:
    replies = says("I wait.", call("bash", command="sleep 0.5")), says("Steered.")
    async with opened(tmp_path, *replies) as desk:
        await desk.submit("go")
        await desk.see("sleep 0.5")
        await desk.submit("change course")
        await desk.see("Steered.")
        await desk.idle()
        assert "Steering:" not in desk.text
        roles = [message.role for message in desk.model.requests[1].context.messages]
        assert roles == ["user", "assistant", "toolResult", "user"]
