"""The main job, as a user has it: the command against a model server on loopback, tools on real files, the session."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.peer import Peer
from tests.support.replies import Call, anthropic, openai
from tests.support.run import Place
from tests.support.server import ScriptedServer

STYLES = {
    "openai": (openai, {}),
    "anthropic": (anthropic, {"api": "anthropic-messages"}),
}


def _session(place: Place) -> list[dict[str, Any]]:
    (path,) = place.sessions()
    return [json.loads(line) for line in path.read_text().split("\n") if line]


@pytest.fixture(params=sorted(STYLES))
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _serve(place: Place, style: str, *replies: Any) -> ScriptedServer:
    make, provider = STYLES[style]
    server = ScriptedServer([make(*reply) for reply in replies])
    base = {"baseUrl": server.url} if style == "anthropic" else {}
    place.write_models(server.url, **provider, **base)
    return server


def test_several_tool_calls_in_one_turn_work_on_real_files(place: Place, style: str) -> None:
    (place.cwd / "a.txt").write_text("one\n")
    calls = [Call("read", {"path": "a.txt"}, "c1"), Call("write", {"path": "b.txt", "content": "two"}, "c2")]
    edit = Call("edit", {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}]}, "c3")
    with _serve(place, style, calls, [edit], ["All done."]) as server:
        done = place.run("-p", "--model", "stub/m1", "change them")
    assert (done.stdout, done.stderr, done.exit) == ("All done.\n", "", 0)
    assert (place.cwd / "a.txt").read_text() == "1\n"
    assert (place.cwd / "b.txt").read_text() == "two"
    assert len(server.requests) == 3
    roles = [line["message"]["role"] for line in _session(place) if line["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult", "toolResult", "assistant", "toolResult", "assistant"]


def test_the_session_file_is_private_and_has_its_header(place: Place) -> None:
    with _serve(place, "openai", ["hi"]):
        place.run("-p", "--model", "stub/m1", "hello")
    (path,) = place.sessions()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    header = _session(place)[0]
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, str(place.cwd))


def test_continue_sends_the_earlier_conversation(place: Place, style: str) -> None:
    with _serve(place, style, ["first answer"], ["second answer"]) as server:
        place.run("-p", "--model", "stub/m1", "first question")
        done = place.run("-p", "-c", "--model", "stub/m1", "second question")
    assert done.stdout == "second answer\n"
    sent = json.dumps(server.requests[1].body)
    assert "first question" in sent
    assert "first answer" in sent
    assert len(place.sessions()) == 1


def test_nothing_is_stored_with_no_session(place: Place) -> None:
    with _serve(place, "openai", ["hi"]):
        place.run("-p", "--no-session", "--model", "stub/m1", "hello")
    assert place.sessions() == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-p", "--model", "stub/nothing-like-it", "hi"], "not found"),
        (["-p", "--model", "nothing-like-it-at-all", "hi"], "nothing-like-it-at-all"),
        (["-p", "@missing.txt", "hi"], "missing.txt"),
        (["-p", "hi"], "model"),
    ],
)
def test_what_cannot_start_says_so_in_a_line(place: Place, argv: list[str], words: str) -> None:
    if "stub/" in " ".join(argv):
        place.write_models("http://127.0.0.1:9", models=[])
    done = place.run(*argv)
    assert done.exit == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert place.sessions() == []


def test_a_server_that_is_not_there_is_named(place: Place) -> None:
    place.write_models("http://127.0.0.1:9")
    place.write_settings({"retry": {"enabled": False}})
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert done.exit == 1
    assert "127.0.0.1" in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1
    assert place.sessions() == []


def test_a_silent_pipe_is_mentioned_and_waited_for(place: Place) -> None:
    with _serve(place, "openai", ["ok"]) as server, place.start("-p", "--model", "stub/m1") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        assert "standard input" in line
        process.stdin.write(b"from the pipe")
        process.stdin.close()
        assert process.wait(60) == 0
    assert "from the pipe" in json.dumps(server.requests[0].body)


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_an_interrupt_ends_the_run_in_order(place: Place) -> None:
    with _serve(place, "openai", [Call("bash", {"command": "touch started; sleep 60"})]):
        process = place.start("-p", "--model", "stub/m1", "run it")
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        _wait_for((place.cwd / "started").exists)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    results = [line["message"] for line in _session(place) if line.get("message", {}).get("role") == "toolResult"]
    assert [result["isError"] for result in results] == [True]


def test_the_peer_continues_our_session_and_we_continue_the_peers(place: Place, peer: Peer) -> None:
    replies = [openai(f"answer {number}") for number in range(1, 4)]
    with ScriptedServer(replies) as server:
        place.write_models(server.url)
        assert place.run("-p", "--model", "stub/m1", "question 1").exit == 0
        assert peer.run(place, "-p", "-c", "--model", "stub/m1", "question 2").exit == 0
        assert place.run("-p", "-c", "--model", "stub/m1", "question 3").exit == 0
        sent = [json.dumps(request.body) for request in server.requests]
    assert len(place.sessions()) == 1
    assert all(text in sent[1] for text in ("question 1", "answer 1", "question 2"))
    assert all(text in sent[2] for text in ("question 1", "answer 1", "question 2", "answer 2", "question 3"))


def test_the_demo_repairs_a_failing_test(place: Place) -> None:
    sample = Path(__file__).parents[1] / "examples" / "sample-project"
    for file in sample.glob("*.py"):
        (place.cwd / file.name).write_text(file.read_text())
    done = place.run("-p", "--model", "demo/scripted", "Fix the failing test")
    assert done.exit == 0
    assert "DEMO: no model, fixed replies" in done.stdout
    tests = subprocess.run(["python3", "-m", "unittest"], cwd=place.cwd, check=False, capture_output=True)
    assert tests.returncode == 0


def test_the_demo_looks_around_for_any_other_prompt(place: Place) -> None:
    (place.cwd / "README.md").write_text("# Hello\n")
    done = place.run("-p", "--no-session", "--model", "demo/scripted", "What is here?")
    assert "README.md" in done.stdout
    assert done.stdout.startswith("DEMO: no model, fixed replies.")
