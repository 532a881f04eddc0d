"""Cases of retries: which failures are tried again, and when; some with the whole program and a scripted server."""

from __future__ import annotations

import json
import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from piolet.llm.overflow import is_overflow_text
from piolet.llm.retry import backoff_ms, is_retryable
from tests.conformance.outcome import Skip, equal
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.server import Reply, ScriptedServer
from tests.support.timing import within

MODEL = ("--model", "stub/m1")


def check_case(case: Mapping[str, Any]) -> None:
    given = case["input"]
    if "run" in given:
        _check_run(case)
        return
    if given["function"] not in FUNCTIONS:
        raise Skip(f"nothing here does {given['function']!r}")
    function = FUNCTIONS[given["function"]]
    settings = case["setup"].get("settings", {}).get("retry", {})
    equal([function(row, settings) for row in given.get("rows", given.get("values"))], case["expected"]["result"])


def _backoff(attempt: int, settings: Mapping[str, Any]) -> int:
    return backoff_ms(attempt, settings.get("baseDelayMs", 2000), settings.get("maxAgentDelayMs", 60_000))


FUNCTIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "is_retryable": lambda text, settings: is_retryable(text),
    "is_overflow": lambda text, settings: is_overflow_text(text),
    "backoff_ms": _backoff,
}

# ------------------------------------------------------------------------------------------------- the whole program


def _check_run(case: Mapping[str, Any]) -> None:
    wanted, run = case["expected"].get("property"), case["input"]["run"]
    if wanted not in PROPERTIES or run not in RUNS:
        raise Skip(f"nothing here checks of {run!r} that {wanted}")
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer([_reply(t) for t in case["setup"]["server"]]) as server,
    ):
        place = Place.below(Path(folder))
        place.write_models(server.url)
        place.write_settings(case["setup"].get("settings", {"retry": {}}))
        seconds = RUNS[run](place)
        PROPERTIES[wanted](place, server, seconds)


def _reply(described: str) -> Reply:
    """Return the answer that a description means."""
    if call := re.fullmatch(r"tool call bash: (.*)", described):
        return openai(Call("bash", {"command": call[1]}))
    if cut := re.fullmatch(r"stream cut after '(.*)'", described):
        return {"stream": [{"delta": {"content": cut[1]}}, {"close": True}]}
    if ok := re.fullmatch(r"200 (\w+)", described):
        return openai(ok[1])
    if failed := re.fullmatch(r"(\d+)(?: ([\w-]+): (.*))?", described):
        headers = {failed[2]: failed[3]} if failed[2] else {}
        return {"status": int(failed[1]), "headers": headers, "json": {"error": {"message": "try later"}}}
    raise Skip(f"nothing here answers with {described!r}")


def _prompt(place: Place) -> float:
    began = time.monotonic()
    finished = place.run("-p", *MODEL, "go")
    assert finished.exit == 0, finished.stderr
    return time.monotonic() - began


def _prompt_and_abort(place: Place) -> float:
    """Return the seconds from the abort to the settled agent."""
    with place.start("--mode", "rpc", "--no-session", *MODEL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        patience = threading.Timer(20, process.kill)
        patience.start()
        try:
            _send(process.stdin, {"type": "prompt", "message": "go"})
            for line in process.stdout:
                if json.loads(line)["type"] == "auto_retry_start":
                    break
            time.sleep(1)
            began = time.monotonic()
            _send(process.stdin, {"type": "abort"})
            for line in process.stdout:
                if json.loads(line)["type"] == "agent_settled":
                    return time.monotonic() - began
            raise AssertionError("the agent never settled")
        finally:
            patience.cancel()
            process.stdin.close()
            process.wait(60)


def _send(pipe: Any, record: Mapping[str, Any]) -> None:
    pipe.write(json.dumps(record).encode() + b"\n")
    pipe.flush()


RUNS: Mapping[str, Callable[[Place], float]] = {
    "prompt": _prompt,
    "rpc prompt, abort after 1 s": _prompt_and_abort,
}


def _waited(least: float, most: float) -> Callable[[Place, ScriptedServer, float], None]:
    def check(place: Place, server: ScriptedServer, seconds: float) -> None:
        first, second = server.requests
        assert least <= second.at - first.at, f"second request after {second.at - first.at:.2f} s"
        within(second.at - first.at, most, "the second request")

    return check


def _settled_at_once(place: Place, server: ScriptedServer, seconds: float) -> None:
    within(seconds, 1, "settling")
    equal(len(server.requests), 1, "requests")


def _nothing_repeated(place: Place, server: ScriptedServer, seconds: float) -> None:
    equal((place.cwd / "n").read_text(), "x\n", "file n")
    assert "par" not in json.dumps(server.requests[2].body["messages"][1:]), "the failed text is in the third request"
    entries = [json.loads(line) for line in place.sessions()[0].read_text().splitlines()]
    failed = [e for e in entries if e["type"] == "message" and e["message"].get("stopReason") == "error"]
    equal([block["text"] for e in failed for block in e["message"]["content"]], ["par"], "failed answers")


PROPERTIES: Mapping[str, Callable[[Place, ScriptedServer, float], None]] = {
    "second request not before 4.9 s and not after 10 s": _waited(4.9, 10),
    "second request at least 0.3 s later": _waited(0.3, 60),
    "agent settles within 1 s of the abort; no further request": _settled_at_once,
    "file n has one line; third request holds no text 'par'; "
    "session keeps one assistant error entry": _nothing_repeated,
}
