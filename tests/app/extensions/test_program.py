"""Extensions in the whole program: options of the command line, help, output, waiting, the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.extensions.stage import write
from tests.support.replies import openai
from tests.support.rpc import rpc
from tests.support.run import Place
from tests.support.server import ScriptedServer

FLAGS = """
    def extension(pi):
        pi.register_flag("plan", type="boolean", description="plan first")
        pi.register_flag("level", type="string", default="low", description="how much")
        early = pi.get_flag("level")
        @pi.command("flags")
        def flags(args, ctx):
            import sys
            print([pi.get_flag("plan"), pi.get_flag("level"), pi.get_flag("other"), early], file=sys.stderr)
"""


@pytest.fixture
def server(place: Place) -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: openai(f"Answer {len(request.body['messages'])}.")) as server:
        place.write_models(server.url)
        yield server


def extension(place: Place, code: str, name: str = "mine") -> Path:
    return write(place.agent / "extensions" / f"{name}.py", code)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "[None, 'low', None, None]"),
        (["--plan"], "[True, 'low', None, None]"),
        (["--plan=false", "--level=high"], "[False, 'high', None, 'high']"),
        (["--level", "high", "--plan", "true"], "[True, 'high', None, 'high']"),
    ],
)
def test_flags_reach_their_extension(place: Place, words: list[str], told: str) -> None:
    extension(place, FLAGS)
    done = place.run("-p", *words, "--model", "demo/scripted", "--", "/flags")
    assert (done.exit, done.stderr.strip()) == (0, told)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--plam"], "Unknown option: --plam"),
        (["--plam", "--x"], "Unknown options: --plam, --x"),
        (["--level"], "--level needs a value"),
        (["--plan=maybe"], "--plan is on or off"),
    ],
)
def test_wrong_flags_are_errors(place: Place, words: list[str], error: str) -> None:
    extension(place, FLAGS)
    done = place.run("-p", "--model", "demo/scripted", *words)
    assert (done.exit, error in done.stderr, done.stdout) == (1, True, "")
    assert "Traceback" not in done.stderr


def test_an_unknown_flag_may_be_one_of_a_project_that_is_not_trusted(place: Place) -> None:
    extension(place, FLAGS)
    (place.cwd / ".pi").mkdir()
    (place.agent / "extensions").rename(place.cwd / ".pi" / "extensions")
    done = place.run("-p", "--model", "demo/scripted", "--plan", "hi")
    assert done.exit == 1
    assert "Unknown option: --plan. " in done.stderr
    assert "the project is not trusted" in done.stderr
    assert place.run("-p", "--model", "demo/scripted", "-a", "--plan", "hi").exit == 0


def test_a_message_behind_a_switch_is_still_a_message(place: Place, server: ScriptedServer) -> None:
    extension(place, FLAGS)
    done = place.run("-p", "--model", "stub/m1", "--plan", "do it", "then that")
    assert done.exit == 0, done.stderr
    first, second = (request.body["messages"][-1]["content"] for request in server.requests)
    assert ("do it" in str(first), "then that" in str(second)) == (True, True)


def test_help_lists_the_flags_of_extensions(place: Place) -> None:
    extension(place, FLAGS)
    extension(place, "raise ValueError('broken')", "broken")
    done = place.run("--help")
    assert done.exit == 0
    assert "--plan " in done.stdout
    assert "how much" in done.stdout
    assert "broken" in done.stderr
    assert "--plan " not in place.run("--help", "--no-extensions").stdout


def test_print_mode_waits_for_what_a_command_sends(place: Place, server: ScriptedServer) -> None:
    extension(
        place,
        """
        def extension(pi):
            pi.register_command("ask", lambda args, ctx: pi.send_user_message(args))
            @pi.on("agent_settled")
            def again(event, ctx):
                if len(ctx.session_manager.build_session_context().messages) < 4:
                    pi.send_user_message("and again")
        """,
    )
    done = place.run("-p", "--model", "stub/m1", "/ask first")
    assert (done.exit, done.stdout) == (0, "Answer 4.\n"), done.stderr
    done = place.run("--mode", "json", "--model", "stub/m1", "/ask first")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["type"] for record in records].count("agent_settled") == 2


def test_a_handler_that_fails_is_told_on_standard_error_with_its_file(place: Place, server: ScriptedServer) -> None:
    path = extension(place, "def extension(pi):\n    pi.on('agent_start', lambda event, ctx: 1 / 0)\n")
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.exit, done.stdout) == (0, "Answer 2.\n")
    assert done.stderr == f"Extension error ({path}): agent_start: division by zero\n"
    verbose = place.run("-p", "--verbose", "--model", "stub/m1", "hi")
    assert "ZeroDivisionError" in verbose.stderr
    assert "mine.py" in verbose.stderr.split("\n", 1)[1]


def test_what_fails_in_the_background_is_told_with_its_file_and_nothing_there_holds_up_the_end(
    place: Place, server: ScriptedServer
) -> None:
    path = extension(
        place,
        """
        import asyncio, threading, time

        def fail(what):
            raise ValueError(what)

        async def fail_later():
            fail("task")

        async def stay():
            while True:
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    pass

        def extension(pi):
            @pi.on("session_start")
            async def start(event, ctx):
                asyncio.get_running_loop().call_soon(fail, "callback")
                task = asyncio.create_task(fail_later())
                thread = threading.Thread(target=fail, args=["thread"])
                thread.start()
                thread.join()
                await asyncio.wait([task])
                pi.spawn(stay())
                pi.spawn(asyncio.to_thread(time.sleep, 1000))
        """,
    )
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.exit, done.stdout) == (0, "Answer 2.\n")
    faults = [f"Extension error ({path}): in the background: {what}" for what in ("callback", "task", "thread")]
    assert sorted(done.stderr.splitlines()) == faults


def test_slow_handlers_are_named_when_asked(place: Place, server: ScriptedServer) -> None:
    extension(
        place, "import asyncio\ndef extension(pi):\n    pi.on('agent_start', lambda event, ctx: asyncio.sleep(1.1))\n"
    )
    assert "Slow" not in place.run("-p", "--model", "stub/m1", "hi").stderr
    assert re.search("agent_start took [1-9]", place.run("-p", "--verbose", "--model", "stub/m1", "hi").stderr)


def test_workers_that_wait_for_work_let_the_program_end_as_programs_do(place: Place, server: ScriptedServer) -> None:
    extension(
        place,
        """
        import atexit, pathlib
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        def extension(pi):
            pi.on("agent_start", lambda event, ctx: pool.submit(int).result())
            atexit.register(pathlib.Path("ended").touch)
        """,
    )
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.exit, done.stdout) == (0, "Answer 2.\n"), done.stderr
    assert (place.cwd / "ended").exists()


def test_an_extension_can_end_the_program(place: Place, server: ScriptedServer) -> None:
    extension(place, "def extension(pi):\n    pi.on('agent_settled', lambda event, ctx: ctx.shutdown())\n")
    done = place.run("-p", "--model", "stub/m1", "one", "two")
    assert (done.exit, len(server.requests)) == (0, 1)


def test_a_session_is_left_in_order(place: Place, server: ScriptedServer) -> None:
    log = place.cwd / "log"
    extension(
        place,
        f"""
        import asyncio, pathlib
        def extension(pi):
            @pi.on("session_shutdown")
            async def bye(event, ctx):
                r = await pi.exec("echo", ["bye", event.reason])
                pathlib.Path({str(log)!r}).write_text(r.stdout)
                pi.append_entry("last", 1)
        """,
    )
    place.run("-p", "--model", "stub/m1", "hi")
    assert log.read_text() == "bye quit\n"
    (session,) = place.sessions()
    assert '"customType":"last"' in session.read_text().split("\n")[-2]
    log.unlink()
    with rpc(place, "--model", "stub/m1") as client:
        client.prompt("hi")
        assert client.close() == 0
    assert log.read_text() == "bye quit\n"


def test_rpc_serves_what_comes_during_the_start_and_asks_meanwhile(place: Place, server: ScriptedServer) -> None:
    extension(
        place,
        """
        def extension(pi):
            @pi.on("session_start")
            async def start(event, ctx):
                pi.append_entry("sure", await ctx.ui.confirm("Start?", "Really"))
        """,
    )
    with rpc(place, "--model", "stub/m1") as client:
        state = client.send("get_state")
        question = client.wait(type="extension_ui_request")
        assert question["title"] == "Start?"
        assert client.events("response") == []
        client.write(json.dumps({"type": "extension_ui_response", "id": question["id"], "confirmed": True}) + "\n")
        assert client.response(state)["success"]
        (entry,) = [e for e in client.data("get_entries")["entries"] if e["type"] == "custom"]
        assert entry["data"] is True


def test_rpc_tells_of_faults_and_commands(place: Place, server: ScriptedServer) -> None:
    path = extension(
        place,
        """
        def extension(pi):
            @pi.command("boom")
            async def boom(args, ctx):
                "Breaks."
                raise RuntimeError("it broke")
        """,
    )
    broken = extension(place, "x = 1", "broken")
    with rpc(place, "--model", "stub/m1") as client:
        (command,) = client.data("get_commands")["commands"]
        assert (command["name"], command["description"], command["source"]) == ("boom", "Breaks.", "extension")
        assert command["sourceInfo"]["path"] == str(path)
        assert client.request("prompt", message="/boom")["data"] == {"disposition": "handled"}
        refused = client.request("steer", message="/boom")
        assert "cannot be queued" in refused["error"]
        errors = [record for record in client.records if record["type"] == "extension_error"]
        assert [(error["extensionPath"], error["event"]) for error in errors] == [
            (str(broken), "load"),
            (str(path), "command:boom"),
        ]
        assert errors[1]["error"] == "it broke"


def test_dialogs_are_cancelled_when_the_client_leaves(place: Place, server: ScriptedServer) -> None:
    log = place.cwd / "log"
    extension(
        place,
        f"""
        import pathlib
        def extension(pi):
            @pi.on("session_shutdown")
            async def bye(event, ctx):
                answer = await ctx.ui.editor("Last words?")
                pathlib.Path({str(log)!r}).write_text(str(answer))
        """,
    )
    with rpc(place, "--model", "stub/m1") as client:
        client.data("get_state")
        assert client.close() == 0
    assert log.read_text() == "None"
