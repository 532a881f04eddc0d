"""Print and JSON mode: what reaches which stream, exit codes, signals (the command line specification, section 4)."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.support.processes import running_with
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer
from tests.support.timing import quickest, wait_until

STUBBORN = "trap '' TERM INT HUP; touch {}; while :; do sleep 0.1; done"


@pytest.fixture
def server(place: Place) -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        place.write_models(server.url)
        yield server


def test_messages_are_sent_one_after_the_other_and_the_last_answer_is_printed(
    place: Place, server: ScriptedServer
) -> None:
    server.script = [openai("One."), openai("Two.", "And more.")]
    (place.cwd / "a.txt").write_text("content\n")
    done = place.run("-p", "--model", "stub/m1", "@a.txt", "first", "second", stdin="  piped \n")
    assert (done.stdout, done.stderr, done.exit) == ("Two.And more.\n", "", 0)
    first = server.requests[0].body["messages"][-1]["content"][0]["text"]
    assert first == f'piped<file name="{place.cwd / "a.txt"}">\ncontent\n\n</file>\nfirst'
    assert server.requests[1].body["messages"][-1]["content"][0]["text"] == "second"


def test_without_a_prompt_nothing_is_sent(place: Place, server: ScriptedServer) -> None:
    done = place.run("-p", "--model", "stub/m1", stdin=" \n")
    assert (done.stdout, done.exit) == ("", 0)
    done = place.run("--mode", "json", "--model", "stub/m1")
    assert [record["type"] for record in done.records] == ["session"]
    assert done.exit == 0
    assert server.requests == []
    assert place.sessions() == []


def test_an_error_of_the_model_is_on_standard_error_in_print_and_in_the_events_in_json(
    place: Place, server: ScriptedServer
) -> None:
    server.script = lambda request: {"status": 400, "json": {"error": {"message": "bad \x1b[31mthing"}}}
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.stdout, done.exit) == ("", 1)
    assert done.stderr.startswith("400: ")
    assert "\x1b" not in done.stderr
    done = place.run("--mode", "json", "--model", "stub/m1", "hi")
    assert (done.stderr, done.exit) == ("", 0)
    assert [record["message"]["stopReason"] for record in done.records if record["type"] == "turn_end"] == ["error"]


def test_a_wait_that_is_too_long_is_named(place: Place, server: ScriptedServer) -> None:
    place.write_settings({})
    server.script = [{"status": 429, "headers": {"retry-after": "7200"}, "json": {"error": "slow down"}}]
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert done.stderr == "429: slow down (the server asks for a wait of 7200 s, more than the limit)\n"
    assert (done.exit, len(server.requests)) == (1, 1)


def test_an_answer_that_was_cut_is_printed_with_a_notice(place: Place, server: ScriptedServer) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 8192, "total_tokens": 8202}
    server.script = [openai("Half an ans", finish="length", usage=usage)]
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.stdout, done.exit) == ("Half an ans\n", 1)
    assert "output token limit" in done.stderr


def test_a_prompt_that_is_rejected_leaves_only_the_header(place: Place) -> None:
    done = place.run("--mode", "json", "hi")
    assert [record["type"] for record in done.records] == ["session"]
    assert done.stderr.startswith("Error: No model selected")
    assert done.exit == 1


def start(place: Place, server: ScriptedServer, mode: str) -> subprocess.Popen[bytes]:
    server.script = [openai(Call("bash", {"command": STUBBORN.format(place.cwd / "begun")}))]
    process = place.start("--mode", mode, "-p", "--model", "stub/m1", "hi")
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    wait_until((place.cwd / "begun").exists)
    return process


@pytest.mark.parametrize("mode", ["text", "json"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_signals_end_the_run_in_order(place: Place, server: ScriptedServer, mode: str, number: int, code: int) -> None:
    process = start(place, server, mode)
    process.send_signal(number)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in errors
    if mode == "json":
        assert all(json.loads(line) for line in out.splitlines())
    (path,) = place.sessions()
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    called = [entry for entry in entries if entry.get("message", {}).get("role") == "assistant"]
    assert called[0]["message"]["content"][0]["name"] == "bash"
    wait_until(lambda: not running_with(f"touch {place.cwd / 'begun'}"))


def test_a_run_under_nohup_outlives_its_terminal(place: Place, server: ScriptedServer) -> None:
    server.script = lambda request: openai("Hello.") | {"delay_ms": 500}
    process = place.start("-p", "--model", "stub/m1", "hi", command=("nohup", *PIOLET))
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    server.wait_for_requests(1)
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=30)[0] == b"Hello.\n"
    assert process.returncode == 0


def test_a_second_interrupt_ends_it_at_once(place: Place, server: ScriptedServer) -> None:
    def attempt() -> float:
        asked = len(server.requests)
        process = place.start("-p", "--model", "stub/m1", "hi")
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        server.wait_for_requests(asked + 1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 130
        return time.monotonic() - began

    server.script = lambda request: {**openai("Hello."), "delay_ms": 60_000}
    assert quickest(attempt, 1.5) < 1.5


def test_json_into_a_pipe_that_closes_stops_the_run(place: Place, server: ScriptedServer) -> None:
    server.script = lambda request: {
        "stream": [{"delta": {"content": "x" * 100}}, *([{"sleep_ms": 50}, {"delta": {"content": "y" * 100}}] * 400)]
    }
    process = place.start("--mode", "json", "--model", "stub/m1", "hi")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdin = None
    while b"message_update" not in process.stdout.readline():
        pass
    process.stdout.close()
    assert process.wait(30) == 1
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    server.wait_for_disconnects()


def test_what_others_print_does_not_reach_the_answer(place: Place, server: ScriptedServer) -> None:
    server.script = [openai(Call("bash", {"command": "echo tool output; echo more >&2"})), openai("The answer.")]
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.stdout, done.stderr) == ("The answer.\n", "")
