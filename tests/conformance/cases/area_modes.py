"""Cases about print and RPC mode: the whole program, run as a user or a client runs it."""

from __future__ import annotations

import base64
import json
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.outcome import Skip, equal
from tests.support.replies import openai
from tests.support.run import Finished, Place
from tests.support.server import Reply, ScriptedServer
from tests.support.timing import within

Case = Mapping[str, Any]

OPEN_PIPE = "open pipe, nothing written"
ANSWER_OR_MESSAGE = re.compile(r"answer or a message on standard error within (\d+) s")
KNOWN = {
    "stdout",
    "stdout_contains",
    "stdout_not_contains",
    "stderr_contains",
    "stderr_not_contains",
    "stderr_min_chars",
    "exit_code",
    "exit_code_not",
    "max_seconds",
    "request_contains",
    "responses",
    "last_response",
    "other_responses_allowed",
    "every_stdout_line_is_json",
    "no_crash",
    "property",
}


def check_case(case: Case) -> None:
    given, setup, expected = case["input"], case["setup"], case["expected"]
    if unknown := expected.keys() - KNOWN:
        raise Skip(f"nothing here checks {', '.join(sorted(unknown))}")
    for variant in setup.get("env_variants", [{}]):
        with _world(setup) as (place, server):
            env = {**setup.get("env", {}), **variant}
            if "rpc_stdin" in given:
                _check_rpc(place, given["rpc_stdin"], expected, env)
            elif given.get("stdin") == OPEN_PIPE:
                _check_open_pipe(place, given["argv"], expected)
            elif "argv" in given:
                _check_run(place, server, given, expected, env)
            else:
                raise Skip(f"nothing here does {given.get('run') or given.get('function')!r}")


@contextmanager
def _world(setup: Mapping[str, Any]) -> Iterator[tuple[Place, ScriptedServer]]:
    reply = _reply(setup.get("server"))
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(lambda request: reply) as server:
        place = Place.below(Path(folder))
        place.write_models(server.url)
        place.write_settings({"defaultProvider": "stub", "defaultModel": "m1", **setup.get("settings", {})})
        for file in setup.get("files", ()):
            path = place.cwd / file["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(file["b64"]) if "b64" in file else file["text"].encode())
        yield place, server


def _reply(answer: Any) -> Reply:
    match answer:
        case None:
            return openai("Hello world.")
        case str() if answer.isdecimal():
            return {"status": int(answer), "json": {"error": {"message": "refused"}}}
        case _:
            raise Skip(f"no server here answers {answer!r}")


def _check_run(
    place: Place, server: ScriptedServer, given: Mapping[str, Any], expected: Mapping[str, Any], env: Mapping[str, str]
) -> None:
    started = time.monotonic()
    done = place.run(*given["argv"], stdin=given.get("stdin", ""), env=env)
    _check_end(done, expected, time.monotonic() - started)
    asked = json.dumps([request.body for request in server.requests], ensure_ascii=False)
    for text in expected.get("request_contains", ()):
        assert text in asked, f"{text!r} is in no request"


def _check_open_pipe(place: Place, argv: list[str], expected: Mapping[str, Any]) -> None:
    limit = ANSWER_OR_MESSAGE.fullmatch(expected["property"])
    if limit is None:
        raise Skip(f"unknown property {expected['property']!r}")
    process = place.start(*argv)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        ready = select.select([process.stdout, process.stderr], [], [], float(limit[1]))[0]
        assert ready, "neither an answer nor a message"
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        equal(process.returncode, 0)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _check_rpc(place: Place, stdin: Mapping[str, str], expected: Mapping[str, Any], env: Mapping[str, str]) -> None:
    started = time.monotonic()
    text = stdin["text"] if "text" in stdin else _filled(stdin["template"])
    try:
        done = place.run("--mode", "rpc", "--model", "stub/m1", stdin=text, env=env)
    except subprocess.TimeoutExpired:
        raise AssertionError("the process did not end with its input") from None
    _check_end(done, expected, time.monotonic() - started)
    if expected.get("exit_code") == 0 and not text:
        equal(done.stderr, "")
    responses = [record for record in done.records if record["type"] == "response"]
    if "last_response" in expected:
        _holds(responses[-1], expected["last_response"])
    if "responses" not in expected:
        return
    rest = iter(responses)
    for wanted in expected["responses"]:
        if expected.get("other_responses_allowed"):
            assert any(_fits(response, wanted) for response in rest), f"no response {wanted} in {responses}"
        else:
            _holds(next(rest, {}), wanted)


def _filled(template: str) -> str:
    text = re.sub(r"<(.) x (\d+)>", lambda match: match[1] * int(match[2]), template)
    return text.replace("\\n", "\n")


def _fits(response: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(response.get(name, ...) == value for name, value in wanted.items())


def _holds(response: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    assert _fits(response, wanted), f"{response}, expected {wanted}"


def _check_end(done: Finished, expected: Mapping[str, Any], seconds: float) -> None:
    assert "Traceback" not in done.stderr, done.stderr
    for name, value in expected.items():
        match name:
            case "exit_code":
                equal(done.exit, value, done.stderr)
            case "exit_code_not":
                assert done.exit != value, f"exit {done.exit}"
            case "stdout":
                equal(done.stdout, value)
            case "stdout_contains" | "stderr_contains":
                text = done.stdout if name.startswith("stdout") else done.stderr
                assert all(piece in text for piece in value), f"{value} not in {text!r}"
            case "stdout_not_contains" | "stderr_not_contains":
                text = done.stdout if name.startswith("stdout") else done.stderr
                assert not any(piece in text for piece in value), f"one of {value} in {text!r}"
            case "stderr_min_chars":
                assert len(done.stderr) >= value, f"stderr {done.stderr!r}"
            case "max_seconds":
                within(seconds, value)
            case "every_stdout_line_is_json":
                assert len(done.records) == len(done.stdout.splitlines())
            case "no_crash":
                assert done.exit in (0, 1), done.exit
            case _:
                pass
