"""``piolet auth`` as a process: what it stores, prints and never prints."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from piolet.base.ids import now_ms
from tests.support.oauth_server import OAuthServer
from tests.support.run import PIOLET, Finished, Place
from tests.support.terminal import Terminal

SECRET = "sk-test-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with OAuthServer().running() as running:
        yield running


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def stored(place: Place) -> Any:
    return json.loads((place.agent / "auth.json").read_text())


def login_of(server: OAuthServer, **changes: Any) -> Any:
    login = {"clientId": "mine", "tokenUrl": f"{server.url}/token", "authorizeUrl": f"{server.url}/authorize"}
    custom = {"baseUrl": server.url, "api": "openai-completions", "models": [{"id": "m"}]}
    return {"providers": {"acme": {**custom, "login": {**login, **changes}}}}


def have_login(place: Place, server: OAuthServer, *, left_ms: int) -> None:
    write(place.agent / "models.json", login_of(server))
    token = {"type": "oauth", "access": "access-old", "refresh": "refresh-0", "expires": now_ms() + left_ms}
    write(place.agent / "auth.json", {"acme": token})


def auth(place: Place, words: str, stdin: str = "", **env: str) -> Finished:
    return place.run("auth", *words.split(), stdin=stdin, env=env)


def test_a_key_comes_from_standard_input_and_nobody_else_may_read_it(place: Place) -> None:
    done = auth(place, "login groq --api-key", stdin=f"{SECRET}\n")
    assert (done.exit, done.stderr) == (0, "")
    assert SECRET not in done.stdout
    assert stored(place) == {"groq": {"type": "api_key", "key": SECRET}}
    assert stat.S_IMODE((place.agent / "auth.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(place.agent.stat().st_mode) == 0o700


def test_a_key_typed_in_a_terminal_is_not_shown(place: Place) -> None:
    with Terminal([*PIOLET, "auth", "login", "groq"], cwd=place.cwd, env=place.environment()) as terminal:
        terminal.wait_for("API key for groq")
        terminal.send(f"{SECRET}\r")
        assert terminal.wait_for_exit() == 0
        assert SECRET.encode() not in terminal.output
    assert stored(place)["groq"]["key"] == SECRET


def test_an_interrupt_while_a_key_is_asked_for_stores_nothing(place: Place) -> None:
    with Terminal([*PIOLET, "auth", "login", "groq"], cwd=place.cwd, env=place.environment()) as terminal:
        terminal.wait_for("API key for groq")
        terminal.send("\x03")
        assert terminal.wait_for_exit() == 130
        assert b"Traceback" not in terminal.output
    assert not (place.agent / "auth.json").exists()


LOGIN_BY_EXTENSION = """
import time
from piolet.llm.credentials.records import OAuthCredential
from piolet.llm.model import Model

class Badge:
    name = "Badge"

    async def login(self, ui):
        return OAuthCredential("token-1", await ui.ask("Your badge?"), 0)

    async def renew(self, credential):
        hour = int(time.time() * 1000) + 3_600_000
        return OAuthCredential(f"token of {credential.refresh}", credential.refresh, hour)

def extension(pi):
    gate = {"baseUrl": "http://gate.example", "api": "openai-completions", "models": [{"id": "g1"}]}
    pi.register_provider("gate", gate, login=Badge())
    pi.register_provider("xai", login=Badge())
"""


def test_extensions_know_how_to_log_in(place: Place) -> None:
    (place.agent / "extensions").mkdir(parents=True)
    (place.agent / "extensions" / "gate.py").write_text(LOGIN_BY_EXTENSION)
    for provider in ("gate", "xai"):
        done = auth(place, f"login {provider}", stdin=f"badge {provider}\n")
        assert (done.exit, done.stdout) == (0, f"Logged in to {provider}.\n"), done.stderr
        assert stored(place)[provider]["refresh"] == f"badge {provider}"
        assert auth(place, f"print-bearer-token --provider {provider}").stdout == f"token of badge {provider}\n"
    assert auth(place, "check --model gate/g1").stdout == "ready\n"
    assert "gate" in place.run("--list-models", "g1").stdout
    assert auth(place, "login nope").stderr.startswith('Error: Unknown provider "nope". Known ones: ')


def test_an_entry_that_cannot_be_understood_is_told_and_can_be_replaced(place: Place) -> None:
    write(place.agent / "auth.json", {"groq": "sk-text", "xai": {"type": "api_key", "key": SECRET}})
    status = auth(place, "status").stdout
    assert re.search(r"^xai +ready", status, re.MULTILINE)
    assert re.search(r'^groq +not ready +.*auth.json, entry "groq"', status, re.MULTILINE)
    assert auth(place, "login groq --api-key", stdin="new-key-123\n").exit == 0
    assert stored(place)["groq"] == {"type": "api_key", "key": "new-key-123"}
    (place.agent / "auth.json").write_text("{oops")
    done = place.run("--list-models")
    assert (
        done.stderr == f"Warning: {place.agent / 'auth.json'} is no valid JSON (line 1): repair it, or move it away\n"
    )


@pytest.mark.parametrize(
    ("words", "exit", "said"),
    [
        ("login nope --api-key", 1, 'Unknown provider "nope"'),
        ("login groq --api-key", 1, "No key was given"),
        ("login", 1, "provider"),
        ("login gorq", 1, "Did you mean groq"),
        ("zzz", 1, "zzz"),
        ("check", 2, "--provider"),
        ("print-api-key", 1, "--provider"),
        ("print-api-key --provider deepseek", 1, 'No API key found for "deepseek"'),
        ("print-bearer-token --provider groq", 1, "not configured with a login"),
        ("print-bearer-token --provider openrouter", 1, "run `piolet auth login openrouter`"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(place: Place, words: str, exit: int, said: str) -> None:
    done = auth(place, words)
    assert (done.exit, done.stdout) == (exit, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_logging_out_removes_that_entry_alone(place: Place) -> None:
    write(place.agent / "auth.json", {"groq": {"type": "api_key", "key": "a"}, "xai": {"type": "api_key", "key": "b"}})
    assert "Removed the stored credentials for groq" in auth(place, "logout groq").stdout
    assert stored(place) == {"xai": {"type": "api_key", "key": "b"}}
    done = auth(place, "logout groq")
    assert done.exit == 0
    assert "There are no stored credentials for groq" in done.stdout


def test_the_status_tells_sources_and_no_secret(place: Place, server: OAuthServer) -> None:
    have_login(place, server, left_ms=3_600_000)
    entries = {**stored(place), "xai": {"type": "api_key", "key": SECRET}, "zai": {"type": "api_key", "key": "$UNSET"}}
    write(place.agent / "auth.json", entries)
    done = auth(place, "status", GROQ_API_KEY=SECRET)
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in done.stdout.splitlines()}
    assert rows["groq"] == "ready environment variable GROQ_API_KEY"
    assert rows["xai"] == "ready stored key"
    assert rows["zai"] == "not ready stored key: UNSET is not set"
    assert re.fullmatch(r"ready stored login, expires \d{4}-\d\d-\d\d \d\d:\d\d", rows["acme"])
    assert set(rows) == {"provider", "groq", "xai", "zai", "acme"}
    assert SECRET not in done.stdout
    assert "access-old" not in done.stdout


def test_the_status_does_not_promise_time_to_a_login_that_has_run_out(place: Place, server: OAuthServer) -> None:
    have_login(place, server, left_ms=-3_600_000)
    assert "stored login, expired " in auth(place, "status").stdout


@pytest.mark.parametrize(
    ("words", "exit", "answer"),
    [
        ("--provider groq", 0, {"status": "ready", "provider": "groq", "authType": "api_key"}),
        ("--model openai/gpt-oss-120b", 0, {"status": "ready", "provider": "groq", "authType": "api_key"}),
        (
            "--provider deepseek",
            1,
            {"status": "not_ready", "provider": "deepseek", "reason": "credentials_not_configured"},
        ),
        ("--provider nope", 1, {"status": "not_ready", "provider": "nope", "reason": "provider_not_found"}),
        ("--model zzzz", 2, {"status": "invalid", "provider": "zzzz", "reason": "invalid_state"}),
        (
            "--provider groq --credentials",
            0,
            {"status": "ready", "provider": "groq", "authType": "api_key", "credentials": SECRET},
        ),
    ],
)
def test_a_check_answers_programs(place: Place, words: str, exit: int, answer: Any) -> None:
    done = auth(place, f"check {words} --json", GROQ_API_KEY=SECRET)
    assert (done.exit, json.loads(done.stdout)) == (exit, answer)
    if "--credentials" not in words:
        assert auth(place, f"check {words}", GROQ_API_KEY=SECRET).stdout == f"{answer['status']}\n"


def test_the_key_is_printed_for_who_asks_for_it(place: Place) -> None:
    write(place.agent / "auth.json", {"groq": {"type": "api_key", "key": "!echo from-command"}})
    assert auth(place, "print-api-key --provider groq").stdout == "from-command\n"


def test_a_token_that_lives_too_short_is_renewed(place: Place, server: OAuthServer) -> None:
    have_login(place, server, left_ms=20 * 60_000)
    assert auth(place, "print-bearer-token --provider acme").stdout == "access-old\n"
    assert auth(place, "print-bearer-token --provider acme --min-expiry 30m").stdout == "access-1\n"
    assert stored(place)["acme"]["refresh"] == "refresh-1"
    too_long = auth(place, "print-bearer-token --provider acme --min-expiry 2d")
    assert (too_long.exit, too_long.stdout) == (1, "")


def test_a_check_without_renewal_leaves_an_expired_login(place: Place, server: OAuthServer) -> None:
    have_login(place, server, left_ms=-1)
    done = auth(place, "check --provider acme --no-refresh --json")
    assert (done.exit, json.loads(done.stdout)["reason"]) == (1, "credentials_not_usable")
    assert server.refreshes == 0
    assert auth(place, "check --provider acme").stdout == "ready\n"


def test_a_login_by_pasting_from_a_pipe(place: Place, server: OAuthServer) -> None:
    write(place.agent / "models.json", login_of(server))
    process = place.start("auth", "login", "acme", "--no-browser")
    assert process.stdin is not None
    page = page_of(process)
    process.stdin.write(server.authorize(page).encode() + b"\n")
    process.stdin.flush()
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, b"Logged in to acme.\n"), errors
    assert stored(place)["acme"]["access"] == "access-0"


def test_a_login_by_the_browser_does_not_wait_for_standard_input(place: Place, server: OAuthServer) -> None:
    write(place.agent / "models.json", login_of(server))
    process = place.start("auth", "login", "acme", "--no-browser")
    with urllib.request.urlopen(server.authorize(page_of(process)), timeout=30) as response:
        assert response.status == 200
    assert process.wait(60) == 0
    process.communicate()
    assert stored(place)["acme"]["access"] == "access-0"


def test_a_login_by_device_code_needs_no_input(place: Place, server: OAuthServer) -> None:
    write(place.agent / "models.json", login_of(server, deviceUrl=f"{server.url}/device"))
    done = auth(place, "login acme --no-browser")
    assert done.exit == 0
    assert "Type this code there: ABCD-1234" in done.stderr
    assert stored(place)["acme"]["access"] == "access-0"


def test_an_interrupted_login_stores_nothing(place: Place, server: OAuthServer) -> None:
    write(place.agent / "models.json", login_of(server))
    process = place.start("auth", "login", "acme", "--no-browser")
    page_of(process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert not (place.agent / "auth.json").exists()


def page_of(process: subprocess.Popen[bytes]) -> str:
    """The address of the sign-in page that the process tells, and its question after it."""
    assert process.stderr is not None
    page = ""
    for raw in process.stderr:
        line = raw.decode().strip()
        page = line if line.startswith("http") else page
        if line.startswith("Paste"):
            break
    assert page
    return page
