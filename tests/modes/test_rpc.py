"""RPC mode as a client meets it (the RPC specification); transcripts and cases check the usual, this the rest."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.support.replies import Call, openai
from tests.support.rpc import PATIENCE, RpcClient, rpc
from tests.support.run import Place
from tests.support.server import Reply, Request, ScriptedServer
from tests.support.timing import quickest, wait_until


@pytest.fixture
def serve(place: Place) -> Iterator[Callable[..., ScriptedServer]]:
    """Starts a model server for `place` with a script."""
    servers: list[ScriptedServer] = []

    def start(script: object) -> ScriptedServer:
        server = ScriptedServer(script)  # type: ignore[arg-type]
        servers.append(server.__enter__())
        place.write_models(server.url)
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def client(place: Place, serve: Callable[..., ScriptedServer]) -> Iterator[RpcClient]:
    serve(lambda request: openai("Hello world."))
    with rpc(place, "--model", "stub/m1") as client:
        yield client


# ---- framing and bad input


def test_null_and_other_values_are_answered_and_the_process_goes_on(client: RpcClient) -> None:
    for line in ("null", "1", "[]", '"x"', "true"):
        client.write(line + "\n")
    client.write('{"type": 5, "id": "five"}\r\n')
    client.write('{"type": "get_state", "id": "\\ud800"}\n')
    assert client.wait(id="\ud800")["success"]
    errors = [record for record in client.records if not record["success"]]
    assert [record.get("error") for record in errors] == ["Unknown command: undefined"] * 6
    assert errors[-1]["id"] == "five"
    assert client.close() == 0
    assert client.stderr == ""


def test_the_last_line_needs_no_line_feed(client: RpcClient) -> None:
    client.write('{"id": 1, "type": "get_state"}')
    assert client.close() == 0
    assert client.records[-1]["id"] == 1


def test_bytes_that_are_no_utf8_are_replaced(client: RpcClient) -> None:
    client.write(b'{"type": "\xff"}\n')
    assert client.wait(command="\ufffd")["success"] is False
    assert client.data("get_state")["isStreaming"] is False


WRONG_FIELDS: list[tuple[str, dict[str, object]]] = [
    ("prompt", {}),
    ("prompt", {"message": 5}),
    ("prompt", {"message": "x", "images": 5}),
    ("prompt", {"message": "x", "streamingBehavior": []}),
    ("prompt", {"message": "x", "images": [{"type": "image"}]}),
    ("steer", {"message": None}),
    ("set_model", {"provider": "stub"}),
    ("set_thinking_level", {"level": "huge"}),
    ("set_steering_mode", {"mode": "some"}),
    ("set_auto_retry", {"enabled": "yes"}),
    ("bash", {"command": ["ls"]}),
    ("switch_session", {}),
    ("switch_session", {"sessionPath": "a\0b"}),
    ("fork", {"entryId": 7}),
    ("get_entries", {"since": "nowhere"}),
    ("set_session_name", {"name": " "}),
    ("export_html", {"outputPath": 1}),
    ("export_html", {"outputPath": "\ud800"}),
    ("compact", {"customInstructions": {}}),
]


def test_a_wrong_field_is_an_error_of_that_command_alone(client: RpcClient) -> None:
    for type, fields in WRONG_FIELDS:
        response = client.request(type, **fields)
        assert response["success"] is False, response
        assert response["error"], response
        assert "Internal error" not in response["error"]
    assert client.data("get_state")["messageCount"] == 0


def test_commands_answer_in_the_order_of_their_arrival(client: RpcClient) -> None:
    lines = [{"id": number, "type": "get_state"} for number in range(2000)]
    client.write("".join(json.dumps(line) + "\n" for line in lines))
    client.wait(id=1999)
    assert [record["id"] for record in client.records] == list(range(2000))


# ---- prompting


def test_two_prompts_at_once_start_one_run(place: Place, serve: Callable[..., ScriptedServer]) -> None:
    server = serve([{**openai("Hello."), "delay_ms": 300}])
    with rpc(place, "--model", "stub/m1") as client:
        client.write('{"id":1,"type":"prompt","message":"one"}\n{"id":2,"type":"prompt","message":"two"}\n')
        client.wait(type="agent_settled")
        assert [client.wait(id=1)["success"], client.wait(id=2)["success"]] == [True, False]
        assert client.wait(id=2)["error"].startswith("Agent is already processing.")
        assert len(server.requests) == 1


def test_an_abort_in_the_same_moment_as_the_prompt_stops_it(place: Place, serve: Callable[..., ScriptedServer]) -> None:
    serve([{**openai("Hello."), "delay_ms": 20_000}])
    with rpc(place, "--model", "stub/m1") as client:
        client.write('{"id":1,"type":"prompt","message":"one"}\n{"id":2,"type":"abort"}\n')
        client.wait(id=2)
        assert client.events("agent_settled")
        assert client.data("get_state")["isStreaming"] is False


def test_the_answer_to_a_prompt_comes_before_its_first_event(client: RpcClient) -> None:
    for number in range(5):
        start = len(client.records)
        client.prompt(f"question {number}")
        assert client.records[start]["type"] == "response"
        assert client.records[start]["data"] == {"disposition": "started"}


def test_a_prompt_without_a_model_is_refused_with_the_ways_on(place: Place) -> None:
    with rpc(place) as client:
        response = client.request("prompt", message="hi")
        assert "--model" in response["error"]
        assert "piolet auth login" in response["error"]
        assert client.close() == 0
    assert place.sessions() == []


def test_templates_and_skills_are_expanded_when_queued_too(place: Place, serve: Callable[..., ScriptedServer]) -> None:
    queued = threading.Event()

    def reply(request: Request) -> Reply:
        assert queued.wait(PATIENCE)
        return openai("Answer.")

    server = serve(reply)
    (place.agent / "prompts").mkdir(parents=True)
    (place.agent / "prompts" / "greet.md").write_text("Greet $1.\n")
    (place.agent / "skills" / "demo").mkdir(parents=True)
    (place.agent / "skills" / "demo" / "SKILL.md").write_text("---\nname: demo\ndescription: d\n---\nDo the demo.\n")
    with rpc(place, "--model", "stub/m1") as client:
        client.request("prompt", message="start")
        assert client.data("steer", message="/greet Bob") == {"disposition": "queued"}
        assert client.data("follow_up", message="/skill:demo please") == {"disposition": "queued"}
        queued.set()
        client.wait(type="agent_settled")
    texts = json.dumps(server.requests[-1].body)
    assert "Greet Bob." in texts
    assert "Do the demo." in texts
    assert "</skill>\\n\\nplease" in texts


def test_a_skill_that_is_gone_is_an_error_of_the_prompt(place: Place, client: RpcClient) -> None:
    folder = place.agent / "skills" / "gone"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: gone\ndescription: d\n---\nx\n")
    with rpc(place, "--model", "stub/m1") as other:
        assert [command["name"] for command in other.data("get_commands")["commands"]] == ["skill:gone"]
        (folder / "SKILL.md").unlink()
        assert "SKILL.md cannot be read" in other.request("prompt", message="/skill:gone")["error"]


# ---- model, settings


def test_flags_and_queue_modes_are_kept_in_the_settings(place: Place, client: RpcClient) -> None:
    client.data("set_auto_retry", enabled=False)
    client.data("set_auto_compaction", enabled=False)
    client.data("set_steering_mode", mode="all")
    assert client.data("get_state")["autoCompactionEnabled"] is False
    client.data("new_session")
    state = client.data("get_state")
    assert (state["autoCompactionEnabled"], state["steeringMode"]) == (False, "all")
    stored = json.loads((place.agent / "settings.json").read_text())
    assert stored == {
        "retry": {"enabled": False},
        "compaction": {"enabled": False},
        "steeringMode": "all",
    }


# ---- sessions


def test_switching_goes_to_the_folder_of_the_session(place: Place, client: RpcClient, tmp_path: Path) -> None:
    client.prompt("hi")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "AGENTS.md").write_text("Rules of elsewhere.")
    with rpc(Place(place.home, elsewhere), "--model", "stub/m1") as other:
        other.prompt("there")
        path = other.data("get_state")["sessionFile"]
    assert client.data("switch_session", sessionPath=path) == {"cancelled": False}
    assert client.data("bash", command="pwd")["output"] == f"{elsewhere}\n"
    assert client.data("get_state")["messageCount"] == 3


def test_a_session_whose_folder_is_gone_is_refused_and_the_old_one_stays(
    place: Place, client: RpcClient, tmp_path: Path
) -> None:
    path = tmp_path / "lost.jsonl"
    header = {
        "type": "session",
        "version": 3,
        "id": "lost",
        "timestamp": "2025-01-01T00:00:00.000Z",
        "cwd": "/no/where",
    }
    path.write_text(json.dumps(header) + "\n")
    before = client.data("get_state")["sessionId"]
    error = client.request("switch_session", sessionPath=str(path))["error"]
    assert "/no/where" in error
    assert str(path) in error
    assert client.data("get_state")["sessionId"] == before
    assert client.prompt("hi")["stopReason"] == "stop"


def test_switches_at_once_leave_one_session_that_works(client: RpcClient) -> None:
    for _ in range(5):
        client.send("new_session")
    last = client.send("new_session")
    client.response(last)
    assert client.prompt("hi")["stopReason"] == "stop"
    assert client.close() == 0
    assert client.stderr == ""


def test_a_new_session_in_the_middle_of_a_run_stops_it_and_keeps_what_came(
    place: Place, serve: Callable[..., ScriptedServer]
) -> None:
    part = openai("Hello world.")["stream"][:3]
    serve([openai("First."), {"stream": [*part, {"sleep_ms": 20_000}]}])
    with rpc(place, "--model", "stub/m1") as client:
        client.prompt("one")
        id = client.send("prompt", message="two")
        client.response(id)
        client.wait(client.find(type="response", id=id) or 0, type="message_update")
        assert client.data("new_session") == {"cancelled": False}
        assert client.data("get_state")["messageCount"] == 0
    (path,) = place.sessions()
    assert json.loads(path.read_text().splitlines()[-1])["message"]["stopReason"] == "aborted"


# ---- export


def test_a_session_is_exported_once_it_is_saved(place: Place, client: RpcClient) -> None:
    assert client.request("export_html")["error"].startswith("Nothing to export yet")
    client.prompt("hi")
    path = place.cwd / client.data("export_html")["path"]
    assert path.name == f"piolet-session-{place.sessions()[0].stem}.html"
    assert "Hello world." in path.read_text()
    assert client.data("export_html", outputPath="sub/page.html") == {"path": "sub/page.html"}
    assert (place.cwd / "sub" / "page.html").stat().st_mode & 0o777 == 0o600


# ---- the user's commands


def test_a_session_that_cannot_be_written_is_told_on_standard_error(place: Place, client: RpcClient) -> None:
    client.prompt("one")
    (path,) = place.sessions()
    path.parent.rename(place.home / "away")
    path.parent.write_text("in the way")
    assert client.request("prompt", message="two")["success"]
    wait_until(lambda: "cannot be" in client.stderr)
    assert str(path) in client.stderr


def test_output_of_a_command_comes_while_it_runs(place: Place, client: RpcClient) -> None:
    id = client.send("bash", command="echo one; until [ -e on ]; do sleep 0.01; done; echo two")
    client.wait(type="bash_execution_update", id=id)
    (place.cwd / "on").touch()
    assert client.response(id)["data"]["output"] == "one\ntwo\n"
    assert [record["delta"] for record in client.events("bash_execution_update")] == ["one\n", "two\n"]


def test_commands_of_the_user_run_beside_each_other_until_they_are_aborted(client: RpcClient) -> None:
    first = client.send("bash", command="echo begun; sleep 60")
    client.wait(type="bash_execution_update", id=first)
    second = client.send("bash", command="echo too; sleep 60")
    client.wait(type="bash_execution_update", id=second)
    assert client.data("bash", command="echo three")["output"] == "three\n"
    client.data("abort_bash")
    assert [client.response(id)["data"]["cancelled"] for id in (first, second)] == [True, True]


# ---- the end


def test_the_end_of_the_input_ends_a_run_without_further_events(
    place: Place, serve: Callable[..., ScriptedServer]
) -> None:
    server = serve([{**openai("Hello."), "delay_ms": 20_000}])
    with rpc(place, "--model", "stub/m1") as client:
        client.request("prompt", message="hi")
        server.wait_for_requests(1)
        client.data("get_state")
        count = len(client.records)
        assert client.close() == 0
        assert len(client.records) == count
    server.wait_for_disconnects()


def test_quick_commands_before_the_end_of_the_input_are_answered(client: RpcClient) -> None:
    client.write('{"id":1,"type":"new_session"}\n{"id":2,"type":"set_session_name","name":"n"}\n')
    assert client.close() == 0
    assert {record["id"] for record in client.events("response")} == {1, 2}


STUBBORN = "trap '' TERM INT HUP; while :; do sleep 0.1; done"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_it_within_a_second_whatever_a_tool_does(
    place: Place, serve: Callable[..., ScriptedServer], number: int, code: int
) -> None:
    def attempt() -> float:
        serve([openai("First."), openai(Call("bash", {"command": f"touch {started}; {STUBBORN}"}))])
        started.unlink(missing_ok=True)
        with rpc(place, "--model", "stub/m1") as client:
            client.prompt("zero")
            client.request("prompt", message="one")
            wait_until(started.exists)
            began = time.monotonic()
            client.process.send_signal(number)
            assert client.wait_for_exit() == code
            assert client.stderr == ""
            return time.monotonic() - began

    started = place.cwd / "started"
    assert quickest(attempt, 1) < 1
    assert place.sessions()
    for path in place.sessions():
        assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_signal_ends_it_though_a_handler_holds_the_event_loop(place: Place) -> None:
    started = place.cwd / "started"
    (place.cwd / "freeze.py").write_text(
        "import pathlib, time\n"
        "def extension(pi):\n"
        "    async def freeze(words, ctx):\n"
        f"        pathlib.Path({str(started)!r}).touch()\n"
        "        time.sleep(300)\n"
        "    pi.register_command('freeze', freeze)\n"
    )
    with rpc(place, "-e", "freeze.py", "--model", "demo/scripted") as client:
        client.send("prompt", message="/freeze")
        wait_until(started.exists)
        client.process.send_signal(signal.SIGTERM)
        assert client.wait_for_exit() == 143


def test_a_signal_ends_it_within_a_second_when_nobody_reads(place: Place, serve: Callable[..., ScriptedServer]) -> None:
    def attempt() -> float:
        server = serve([openai("x" * 3_000_000)])
        process = place.start("--mode", "rpc", "--model", "stub/m1")
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b'{"type":"prompt","message":"hi"}\n')
            process.stdin.flush()
            server.wait_for_requests(1)
            wait_until(lambda: waiting_bytes(process.stdout) > 30_000)
            time.sleep(0.5)
            began = time.monotonic()
            process.terminate()
            assert process.wait(30) == 143
            return time.monotonic() - began
        finally:
            process.kill()
            process.communicate()

    assert quickest(attempt, 1.2) < 1.2


def waiting_bytes(pipe: IO[bytes]) -> int:
    """How much of what was written into a pipe has not been read."""
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0])


def resident_mb(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") // 1024 // 1024


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_reader_that_sleeps_costs_no_memory_and_loses_nothing(
    place: Place, serve: Callable[..., ScriptedServer]
) -> None:
    serve(lambda request: openai("Hello."))
    process = place.start("--mode", "rpc", "--model", "stub/m1")
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"id": "a", "type": "get_state"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == "a"
        command = {"id": "b", "type": "bash", "command": "seq 1 3000000"}
        process.stdin.write((json.dumps(command) + "\n").encode())
        process.stdin.flush()
        wait_until(lambda: waiting_bytes(process.stdout) > 30_000)
        before = resident_mb(process.pid)
        time.sleep(1.5)
        assert resident_mb(process.pid) - before < 15
        text = ""
        for line in process.stdout:
            record = json.loads(line)
            if record["type"] == "response":
                break
            text += record["delta"]
        assert text.split() == [str(number) for number in range(1, 3_000_001)]
    finally:
        process.kill()
        process.communicate()


def test_a_reader_that_is_gone_ends_the_process(place: Place, serve: Callable[..., ScriptedServer]) -> None:
    def reply(request: Request) -> Reply:
        return openai("x" * 10_000)

    serve(reply)
    process = place.start("--mode", "rpc", "--model", "stub/m1")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(b'{"type":"prompt","message":"hi"}\n')
    process.stdin.flush()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdin.close()
