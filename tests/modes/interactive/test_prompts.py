from __future__ import annotations

import asyncio
from pathlib import Path

from tests.modes.interactive.desk import opened
from tests.support.scripted_model import call, fails, hangs, says, thinking


async def test_a_prompt_is_shown_and_answered(tmp_path: Path) -> None:
    async with opened(tmp_path, says("# Title\n\nSome *text*.")) as desk:
        await desk.ask("hello", "Some text.")
        await desk.until(lambda: " hello" in desk.rows)
        await desk.until(lambda: " Title" in desk.rows)
        await desk.until(lambda: desk.draft == "")


async def test_tools_have_cards(tmp_path: Path) -> None:
    replies = says("I look.", call("bash", command="echo out; exit 3")), says("Done.")
    async with opened(tmp_path, *replies) as desk:
        await desk.ask("go", "Done.")
        await desk.see("$ echo out; exit 3")
        await desk.see("Command exited with code 3")


async def test_thinking_is_shown_hidden_and_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, says(thinking("Deep thought"), "Answer.")) as desk:
        await desk.ask("go", "Answer.")
        await desk.see("Deep thought")
        desk.key("ctrl+t")
        await desk.see("Thinking...")
        await desk.not_see("Deep thought")
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
        await desk.not_see("Steering")


async def test_steering_is_delivered_after_the_tools(tmp_path: Path) -> None:
    replies = says("I wait.", call("bash", command="until [ -e go ]; do sleep 0.05; done")), says("Steered.")
    async with opened(tmp_path, *replies) as desk:
        await desk.submit("go")
        await desk.see("$ until")
        await desk.submit("change course")
        await desk.see("Steering: change course")
        (tmp_path / "cwd/go").touch()
        await desk.see("Steered.")
        await desk.idle()
        await desk.not_see("Steering:")
        roles = [message.role for message in desk.model.requests[1].context.messages]
        assert roles == ["user", "assistant", "toolResult", "user"]


async def test_a_failed_request_is_tried_again_with_a_countdown(tmp_path: Path) -> None:
    settings = {"retry": {"baseDelayMs": 3000}}
    async with opened(tmp_path, fails("503 overloaded"), says("Here I am."), settings=settings) as desk:
        await desk.submit("go")
        await desk.see("Retrying (1/3) in ")
        await desk.see("Here I am.")


async def test_a_wait_for_another_try_can_be_cancelled(tmp_path: Path) -> None:
    async with opened(tmp_path, fails("503 overloaded"), settings={"retry": {"baseDelayMs": 60_000}}) as desk:
        await desk.submit("go")
        await desk.see("Retrying (1/3)")
        desk.key("escape")
        await desk.not_see("Retrying")
        await desk.idle()
        await desk.see("503 overloaded")


async def test_a_prompt_that_comes_during_a_compaction_is_sent_after_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    summary = says("The summary.", gate=gate)
    settings = {"compaction": {"keepRecentTokens": 2}}
    async with opened(tmp_path, says("One."), says("Two."), summary, says("Three."), settings=settings) as desk:
        await desk.paste("first " * 2000)
        await desk.ask("", "One.")
        await desk.ask("second", "Two.")
        await desk.submit("/compact")
        await desk.see("Compacting context... (escape to cancel)")
        await desk.submit("third")
        await desk.see("Queued; it is sent after the compaction")
        gate.set()
        await desk.see("Three.")


async def test_a_compaction_can_be_cancelled_and_gives_back_what_was_queued(tmp_path: Path) -> None:
    settings = {"compaction": {"keepRecentTokens": 2}}
    async with opened(tmp_path, says("One."), says("Two."), hangs("Never"), settings=settings) as desk:
        await desk.paste("first " * 2000)
        await desk.ask("", "One.")
        await desk.ask("second", "Two.")
        await desk.submit("/compact")
        await desk.see("Compacting context...")
        await desk.submit("third")
        await desk.see("Steering: third")
        desk.key("escape")
        await desk.see("Compaction cancelled")
        await desk.until(lambda: desk.draft == "third")


async def test_a_prompt_that_is_refused_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.runtime.services.models.unregister_provider("test")
        await desk.submit("go")
        await desk.see("Error:")
        await desk.until(lambda: desk.draft == "go")
        assert desk.text.count(" go\n") == 0


async def test_templates_and_skills_are_expanded_and_shown(tmp_path: Path) -> None:
    agent = tmp_path / "home/.pi/agent"
    (agent / "prompts").mkdir(parents=True)
    (agent / "prompts/greet.md").write_text("Say hello to $1 nicely.")
    (agent / "skills/wave").mkdir(parents=True)
    (agent / "skills/wave/SKILL.md").write_text("---\nname: wave\ndescription: How to wave\n---\nRaise a hand.")
    async with opened(tmp_path, says("Hello."), says("Waved.")) as desk:
        await desk.ask("/greet Ada", "Hello.")
        await desk.see("Say hello to Ada nicely.")
        await desk.ask("/skill:wave at me", "Waved.")
        await desk.see("[skill] wave (ctrl+o to expand)")
        await desk.until(lambda: " at me" in desk.rows)


async def test_a_skill_that_was_called_is_listed_and_comes_back_as_it_was_typed(tmp_path: Path) -> None:
    skill = tmp_path / "home/.pi/agent/skills/wave/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: wave\ndescription: How to wave\n---\nRaise a hand.")
    async with opened(tmp_path, says("Waved.")) as desk:
        await desk.ask("/skill:wave at me", "Waved.")
        await desk.submit("/resume")
        await desk.see("› /skill:wave at me")
        desk.key("escape")
        await desk.submit("/tree")
        await desk.see("• user: /skill:wave at me")
        desk.key("up", "enter")
        await desk.see("Summarize branch?")
        desk.key("enter")
        await desk.until(lambda: desk.draft == "/skill:wave at me")
        desk.key("ctrl+c")
        await desk.submit("/tree")
        await desk.see("assistant: Waved.")
        desk.key("down", "enter")
        await desk.see("Navigated to selected point")
        await desk.submit("/fork")
        await desk.see("→ /skill:wave at me")
        desk.key("enter")
        await desk.see("Forked to new session")
        await desk.until(lambda: desk.draft == "/skill:wave at me")


async def test_prompts_of_the_start_are_sent_one_after_the_other(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), says("Two."), prompts=("first", "second")) as desk:
        await desk.see("Two.")
        assert len(desk.model.requests) == 2


async def test_nothing_is_sent_before_the_start_is_over(tmp_path: Path) -> None:
    (tmp_path / "cwd/.pi/skills").mkdir(parents=True)
    async with opened(tmp_path, trust=None, ready=False) as desk:
        await desk.see("Trust project folder?")
        desk.key("escape")
        desk.type("early")
        await desk.until(lambda: desk.face.started)
        await desk.until(lambda: desk.draft == "early")
        assert not desk.runtime.services.trusted


async def test_what_is_sent_before_the_start_is_over_stays_in_the_editor(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with opened(tmp_path, says("One."), ready=False, gate=gate) as desk:
        desk.type("early")
        desk.key("enter")
        await desk.see("Startup is still in progress")
        await desk.until(lambda: desk.draft == "early")
        gate.set()
        await desk.until(lambda: desk.face.started)
        desk.key("enter")
        await desk.see("One.")


async def test_without_a_model_the_user_is_told_how_to_get_one_and_keeps_the_prompt(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.runtime.services.models.unregister_provider("test")
        await desk.submit("/new")
        await desk.see("New session started")
        await desk.submit("go")
        await desk.see("Error: No model can be used yet: /login stores credentials")
        await desk.see("ANTHROPIC_API_KEY")
        await desk.see("models.json")
        await desk.see("--model demo/scripted")
        await desk.see("Not sent")
        await desk.until(lambda: desk.draft == "go")
        await desk.submit(" on")
        await desk.until(lambda: desk.draft == "go on")
        assert desk.text.count("Error: No model can be used yet") == 1


async def test_what_the_session_cannot_take_comes_back_in_front_of_the_draft(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with opened(tmp_path, says("One."), says("Two.", gate=gate), says("Three.")) as desk:
        await desk.ask("first", "One.")
        path = Path(desk.runtime.session.session.path or "")
        kept = path.with_suffix(".kept")
        path.rename(kept)
        path.write_bytes(kept.read_bytes().replace(b'"id":"', b'"id":"other-', 1))
        await desk.submit("lost?")
        await desk.see("Not sent: the text is back")
        await desk.until(lambda: desk.draft == "lost?")
        assert desk.text.count("lost?") == 1

        other = path.rename(path.with_suffix(".other"))
        kept.rename(path)
        desk.key("enter")
        await desk.until(lambda: len(desk.model.requests) == 2)
        await desk.submit("queued")
        await desk.see("Steering: queued")
        desk.type("draft")
        await desk.until(lambda: desk.draft == "draft")
        other.replace(path)
        gate.set()
        await desk.until(lambda: desk.draft == "queued\n\ndraft")
        await desk.idle()
        await desk.not_see("Steering:")


async def test_a_command_that_cannot_be_run_now_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("!sleep 600")
        await desk.see("Running...")
        await desk.submit("!echo two")
        await desk.see("A command is already running")
        await desk.until(lambda: desk.draft == "!echo two")


async def test_tries_that_fail_in_the_same_way_are_counted_in_one_line(tmp_path: Path) -> None:
    refused = "Connection error: 127.0.0.1: connection refused (ECONNREFUSED)"
    replies = [fails(refused)] * 4, [fails("503: busy"), *[fails(refused)] * 3], [fails('401: {"message":"no"}')]
    settings = {"retry": {"baseDelayMs": 1}}
    async with opened(tmp_path, *(reply for each in replies for reply in each), settings=settings) as desk:
        await desk.submit("one")
        await desk.see("(ECONNREFUSED) (gave up after 4 tries)")
        await desk.idle()
        assert desk.text.count("Error: ") == 1
        await desk.submit("two")
        await desk.until(lambda: desk.text.count("(ECONNREFUSED) (gave up after 4 tries)") == 2)
        await desk.idle()
        assert desk.text.count("Error: ") == 3
        await desk.submit("three")
        await desk.see("Error: 401: no. Is the key of test right")


async def test_a_first_prompt_whose_file_cannot_be_made_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), says("Two.")) as desk:
        folder = Path(desk.runtime.session.session.path or "").parent
        folder.rmdir()
        folder.write_text("no folder")
        await desk.submit("hello there")
        await desk.see("Not sent: the text is back")
        await desk.until(lambda: desk.draft == "hello there")
        assert desk.text.count("hello there") == 1
        folder.unlink()
        desk.key("enter")
        await desk.see("Two.")
        await desk.idle()
        assert [message.role for message in desk.model.requests[-1].context.messages] == ["user"]
