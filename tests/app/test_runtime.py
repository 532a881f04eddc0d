"""The product without a terminal: sessions replaced and reloaded, folders trusted or not, prompts in their order."""

from __future__ import annotations

import asyncio
import json
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

import pytest
from msgspec import structs
from PIL import Image

import piolet
from piolet.app import (
    INPUT,
    Command,
    ContinueSession,
    ExtensionCommand,
    ForkSession,
    InputResult,
    NewSession,
    NullUI,
    OpenSession,
    PromptRejected,
    Runtime,
    RuntimeOptions,
    SourceInfo,
    TrustOption,
    UserPrompt,
)
from piolet.app.model_choice import NoSuchModel
from piolet.harness.session.errors import MissingCwd
from piolet.llm.messages import ImageContent
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.server import ScriptedServer
from tests.support.timing import until


@pytest.fixture
def server(place: Place) -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: openai("Hello world.")) as server:
        place.write_models(server.url)
        yield server


@asynccontextmanager
async def opened(place: Place, **options: object) -> AsyncIterator[Runtime]:
    known = {"cwd": place.cwd, "agent_dir": place.agent, "home": place.home, "model": "stub/m1"} | options
    runtime = await piolet.create_runtime(RuntimeOptions(**known))  # type: ignore[arg-type]
    async with runtime:
        yield runtime


def picture(width: int, height: int) -> ImageContent:
    data = BytesIO()
    Image.new("RGB", (width, height), "red").save(data, "PNG")
    return ImageContent(b64encode(data.getvalue()).decode(), "image/png")


def texts(server: ScriptedServer, number: int = -1) -> list[str]:
    """Return what user and model say in a request."""
    messages = server.requests[number].body["messages"][1:]
    return [part if isinstance(part, str) else part[0]["text"] for part in (message["content"] for message in messages)]


# ---- embedding


async def test_a_folder_that_does_not_exist_is_told_at_once(place: Place) -> None:
    with pytest.raises(MissingCwd, match="nowhere"):
        await piolet.create_runtime(cwd=place.cwd / "nowhere", model="demo/scripted")


async def test_an_embedder_asks_and_listens(place: Place, server: ScriptedServer) -> None:
    async with opened(place) as runtime:
        seen: list[str] = []
        runtime.subscribe(lambda event: seen.append(event.type))
        result = await runtime.session.prompt("hi")
        assert result is not None
        assert result.text == "Hello world."
        assert seen[0] == "agent_start"
        assert seen[-1] == "agent_settled"
        assert isinstance(runtime.ui, NullUI)


async def test_two_products_in_one_process_know_nothing_of_each_other(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    places = [Place.below(tmp_path / name) for name in "ab"]
    with ScriptedServer(lambda request: openai(request.headers["authorization"])) as server:
        for name, place in zip("ab", places, strict=True):
            place.write_models(server.url, apiKey=f"key-{name}")
        async with opened(places[0]) as one, opened(places[1]) as other:
            answers = await asyncio.gather(one.session.prompt("x"), other.session.prompt("x"))
    assert [answer.text for answer in answers if answer] == ["Bearer key-a", "Bearer key-b"]
    assert [len(place.sessions()) for place in places] == [1, 1]


async def test_the_short_form_takes_a_folder_and_a_model(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(place.agent))
    async with await piolet.create_runtime(cwd=place.cwd, model="demo/scripted") as runtime:
        result = await runtime.session.prompt("hello")
    assert result is not None
    assert "DEMO" in result.text
    assert len(place.sessions()) == 1


# ---- which session


async def test_a_start_that_fails_leaves_no_copy_of_a_session(place: Place, server: ScriptedServer) -> None:
    async with opened(place) as runtime:
        await runtime.session.prompt("hi")
    (path,) = place.sessions()
    with pytest.raises(NoSuchModel):
        async with opened(place, session=ForkSession(path), model="nosuch"):
            pass
    assert place.sessions() == [path]
    async with opened(place, session=ForkSession(path)) as runtime:
        assert runtime.session.session.header.parent_session == str(path)
    assert len(place.sessions()) == 2


async def test_a_session_is_opened_in_its_own_folder(place: Place, server: ScriptedServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "AGENTS.md").write_text("Rules of the other folder.")
    async with opened(place, cwd=other) as runtime:
        await runtime.session.prompt("hi")
    (path,) = place.sessions()
    async with opened(place, session=OpenSession(path)) as runtime:
        assert runtime.services.cwd == other
        await runtime.session.prompt("again")
        assert "Rules of the other folder." in server.requests[-1].body["messages"][0]["content"]
        done = await runtime.session.bash("pwd")
        assert done.output == f"{other}\n"
        await runtime.new_session()
        assert runtime.session.session.cwd == str(other)


async def test_a_folder_that_is_gone_needs_another(place: Place, server: ScriptedServer, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    async with opened(place, cwd=gone) as runtime:
        await runtime.session.prompt("hi")
    gone.rmdir()
    (path,) = place.sessions()
    with pytest.raises(MissingCwd, match="gone"):
        async with opened(place, session=OpenSession(path)):
            pass
    async with opened(place, session=OpenSession(path, cwd_override=place.cwd)) as runtime:
        assert runtime.services.cwd == place.cwd
        assert len(runtime.session.harness.agent.messages) == 2


async def test_continuing_takes_the_latest_session_of_the_folder(place: Place, server: ScriptedServer) -> None:
    for question in ("one", "two"):
        async with opened(place) as runtime:
            await runtime.session.prompt(question)
    async with opened(place, session=ContinueSession()) as runtime:
        await runtime.session.prompt("three")
    assert texts(server) == ["two", "Hello world.", "three"]


async def test_an_imported_session_goes_on_here(place: Place, server: ScriptedServer, tmp_path: Path) -> None:
    async with opened(place) as runtime:
        await runtime.session.prompt("hi")
    (path,) = place.sessions()
    away = tmp_path / "away.jsonl"
    away.write_bytes(path.read_bytes())
    async with opened(place) as runtime:
        assert await runtime.import_session(str(away))
        assert runtime.session.session.path == str(path.with_name("away.jsonl"))
        await runtime.session.prompt("on")
    assert texts(server) == ["hi", "Hello world.", "on"]


# ---- trust


def answer_with(label: str, asked: list[str]) -> Callable[..., object]:
    async def ask(folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
        asked.append(folder)
        return next((option for option in options if option.label == label), None)

    return ask


async def start_asking(place: Place, label: str, asked: list[str]) -> Runtime:
    options = RuntimeOptions(place.cwd, place.agent, place.home, model="stub/m1")
    return await piolet.create_runtime(options, ask=answer_with(label, asked))  # type: ignore[arg-type]


async def test_the_question_is_put_once_and_the_answer_counts(place: Place, server: ScriptedServer) -> None:
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "settings.json").write_text('{"sessionDir": ".pi/sessions"}')
    (place.cwd / ".pi" / "SYSTEM.md").write_text("Project prompt.")
    asked: list[str] = []
    async with await start_asking(place, "Trust", asked) as runtime:
        assert runtime.services.trusted
        await runtime.session.prompt("hi")
        assert server.requests[-1].body["messages"][0]["content"].startswith("Project prompt.")
        await runtime.reload()
        await runtime.new_session()
        assert runtime.session.session.path is not None
        assert Path(runtime.session.session.path).parent == place.cwd / ".pi" / "sessions"
    assert asked == [os.path.realpath(place.cwd)]
    assert len(place.sessions()) == 1, "the first session began before the answer, in the user's own folder"
    async with await start_asking(place, "Trust", asked) as runtime:
        assert len(asked) == 1
        assert Path(runtime.session.session.path or "").parent == place.cwd / ".pi" / "sessions"


async def test_a_question_that_is_dismissed_means_no_and_is_put_again(place: Place, server: ScriptedServer) -> None:
    (place.cwd / ".pi" / "skills").mkdir(parents=True)
    asked: list[str] = []
    for _ in range(2):
        async with await start_asking(place, "none of these", asked) as runtime:
            assert not runtime.services.trusted
            assert runtime.services.notices == []
    assert len(asked) == 2


# ---- reload


async def test_a_reload_reads_everything_again_and_keeps_the_session(place: Place, server: ScriptedServer) -> None:
    async with opened(place) as runtime:
        await runtime.session.set_model("stub", "m2-think")
        await runtime.session.prompt("hi")
        before = runtime.session
        (place.agent / "prompts").mkdir()
        (place.agent / "prompts" / "greet.md").write_text("Greet $1.")
        (place.agent / "skills" / "demo").mkdir(parents=True)
        (place.agent / "skills" / "demo" / "SKILL.md").write_text("---\nname: demo\ndescription: d\n---\nx")
        (place.agent / "SYSTEM.md").write_text("Another prompt.")
        place.write_settings({"enabledModels": ["m1"], "images": {"autoResize": False}})
        await runtime.reload()
        assert runtime.session is before
        assert [command.name for command in runtime.session.commands.list()] == ["greet", "skill:demo"]
        assert [scoped.model.id for scoped in runtime.session.scope] == ["m1"]
        assert runtime.services.settings.image_auto_resize is False
        await runtime.session.prompt("/greet Bob")
    body = server.requests[-1].body
    assert body["model"] == "m2-think"
    assert body["messages"][0]["content"].startswith("Another prompt.")
    assert texts(server) == ["hi", "Hello world.", "Greet Bob."]


async def test_no_reload_in_the_middle_of_a_run(place: Place) -> None:
    with ScriptedServer([{**openai("Hello."), "delay_ms": 1500}]) as server:
        place.write_models(server.url)
        async with opened(place) as runtime:
            run = asyncio.create_task(runtime.session.prompt("hi"))
            await until(lambda: server.requests)
            with pytest.raises(PromptRejected, match="reload while a run"):
                await runtime.reload()
            await run


# ---- prompts in their order


async def test_a_command_goes_before_input_handlers_and_these_before_templates(
    place: Place, server: ScriptedServer
) -> None:
    (place.agent / "prompts").mkdir()
    (place.agent / "prompts" / "twice.md").write_text("Say $1 twice.")
    order: list[str] = []

    async def run(args: str) -> None:
        order.append(f"command {args!r}")

    async with opened(place) as runtime:
        info = SourceInfo("x.py", "local", "temporary", "top-level")
        remove = runtime.session.commands.add(ExtensionCommand(Command("twice", "", "extension", info), run))
        runtime.hooks.on(INPUT, lambda event: order.append(f"input {event.text!r}"))
        assert await runtime.session.prompt("/twice  a b") is None
        remove()
        await runtime.session.prompt("/twice hi")
    assert order == ["command ' a b'", "input '/twice hi'"]
    assert texts(server) == ["Say hi twice."]


async def test_input_handlers_are_asked_in_turn_until_one_takes_the_prompt(
    place: Place, server: ScriptedServer
) -> None:
    async with opened(place) as runtime:
        seen: list[str] = []
        runtime.hooks.on(INPUT, lambda event: InputResult("transform", event.text + "!"))
        runtime.hooks.on(INPUT, lambda event: seen.append(event.text))
        runtime.hooks.on(INPUT, lambda event: InputResult("handled") if "stop" in event.text else None)
        runtime.hooks.on(INPUT, lambda event: seen.append("behind"))
        assert await runtime.session.prompt("stop") is None
        await runtime.session.prompt("go")
    assert seen == ["stop!", "go!", "behind"]
    assert texts(server) == ["go!"]


async def test_hooks_and_listeners_outlive_the_session(place: Place, server: ScriptedServer) -> None:
    async with opened(place) as runtime:
        inputs: list[str] = []
        events: list[str] = []
        runtime.hooks.on(INPUT, lambda event: inputs.append(event.text))
        runtime.subscribe(lambda event: events.append(event.type))
        await runtime.session.prompt("one")
        await runtime.new_session()
        await runtime.session.prompt("two")
    assert inputs == ["one", "two"]
    assert events.count("agent_settled") == 2


async def test_a_prompt_during_a_run_needs_to_say_how(place: Place) -> None:
    with ScriptedServer([{**openai("One."), "delay_ms": 1500}, openai("Two.")]) as server:
        place.write_models(server.url)
        async with opened(place) as runtime:
            run = asyncio.create_task(runtime.session.prompt("first"))
            await until(lambda: server.requests)
            with pytest.raises(PromptRejected, match="streamingBehavior"):
                await runtime.session.prompt("second")
            accepted: list[str] = []

            async def note(disposition: str) -> None:
                accepted.append(disposition)

            assert await runtime.session.prompt("second", behavior="follow_up", on_accepted=note) is None
            await run
    assert accepted == ["queued"]
    assert texts(server) == ["first", "One.", "second"]


async def test_images_are_blocked_by_the_setting_not_in_the_record(place: Place, server: ScriptedServer) -> None:
    place.write_settings({"images": {"blockImages": True}})
    async with opened(place) as runtime:
        await runtime.session.prompt(UserPrompt("look", [picture(10, 10)]))
    content = server.requests[-1].body["messages"][-1]["content"]
    assert content == [{"type": "text", "text": "look"}, {"type": "text", "text": "Image reading is disabled."}]
    (path,) = place.sessions()
    assert '"type":"image"' in path.read_text()


async def test_images_are_fitted_to_what_models_take(place: Place, server: ScriptedServer) -> None:
    """One that a provider refuses would fail every later request of its session."""
    images = [
        structs.replace(picture(10, 10), mime_type="image/jpeg"),
        picture(3000, 1500),
        ImageContent("not base64!", "image/png"),
        ImageContent(b64encode(b"some text").decode(), "image/png"),
        ImageContent("iVBORw0KGgo=", "image/png"),
    ]
    (place.agent / "prompts").mkdir()
    (place.agent / "prompts" / "see.md").write_text("What is in $1?")
    async with opened(place) as runtime:
        await runtime.session.prompt(UserPrompt("/see this", images))
        message = runtime.session.harness.agent.messages[0]
    text, *shown = message.content  # type: ignore[attr-defined]
    assert [image.mime_type for image in shown] == ["image/png", "image/png"]
    assert shown[0].data == images[0].data
    assert Image.open(BytesIO(b64decode(shown[1].data))).size == (2000, 1000)
    first, blank, *notes = text.text.split("\n")
    assert (first, blank) == ("What is in this?", "")
    assert "original 3000x1500, displayed at 2000x1000" in notes[0]
    assert [note.startswith("[Image omitted: ") for note in notes] == [False, True, True, True]


async def test_tools_know_the_session_they_work_for(place: Place) -> None:
    command = 'printf "%s|" "$PI_SESSION_ID" "$PI_SESSION_FILE" "$PI_PROVIDER" "$PI_MODEL" "$AI_AGENT"'
    with ScriptedServer([openai(Call("bash", {"command": command})), openai("Done.")]) as server:
        place.write_models(server.url)
        async with opened(place) as runtime:
            await runtime.session.prompt("hi")
            session = runtime.session.session
            shown = [message for message in server.requests[-1].body["messages"] if message["role"] == "tool"]
    assert shown[0]["content"] == f"{session.id}|{session.path}|stub|m1|piolet|"


async def test_commands_find_the_programs_of_the_agent_folder(place: Place, server: ScriptedServer) -> None:
    program = place.agent / "bin" / "own-program"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    async with opened(place) as runtime:
        result = await runtime.session.bash("own-program")
    assert result.output == "mine\n"


async def test_the_users_command_is_told_to_the_model_unless_it_is_excluded(
    place: Place, server: ScriptedServer
) -> None:
    async with opened(place, session=NewSession(in_memory=True)) as runtime:
        await runtime.session.bash("echo seen")
        await runtime.session.bash("echo unseen", exclude=True)
        await runtime.session.prompt("hi")
        assert runtime.session.stats().totals.user_messages == 1
    asked = json.dumps(server.requests[-1].body)
    assert "echo seen" in asked
    assert "unseen" not in asked
    assert place.sessions() == []
