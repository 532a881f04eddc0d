"""Every example of an extension does what it says, in print, JSON and RPC mode, against a scripted model server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.replies import Call, openai
from tests.support.rpc import PATIENCE, RpcClient, rpc
from tests.support.run import ROOT, Place
from tests.support.server import Request, ScriptedServer

EXAMPLES = ROOT / "examples" / "extensions"
DIALOGS = ("select", "confirm", "input", "editor")
MODES = ("print", "json", "rpc")


@dataclass
class Played:
    """What a run with an example gave. `shown`: the requests of the extension's UI, in RPC mode."""

    mode: str
    place: Place
    requests: list[Request]
    stdout: str = ""
    stderr: str = ""
    records: list[Any] = field(default_factory=list)

    @property
    def shown(self) -> list[Any]:
        return [record for record in self.records if record.get("type") == "extension_ui_request"]

    def texts(self, number: int = -1) -> list[str]:
        """The messages of a request, as texts, without the system prompt."""
        messages = self.requests[number].body["messages"]
        return [_text(message["content"]) for message in messages if message["role"] != "system"]

    def prompt(self, number: int = 0) -> str:
        """The system prompt of a request."""
        return _text(self.requests[number].body["messages"][0]["content"])

    def results(self, number: int = -1) -> list[str]:
        """The results of tools that a request carries."""
        return [_text(m["content"]) for m in self.requests[number].body["messages"] if m["role"] == "tool"]

    def tools(self, number: int = 0) -> list[str]:
        """The tools that a request offers."""
        return [tool["function"]["name"] for tool in self.requests[number].body.get("tools", [])]

    def entries(self, session: int = -1) -> list[Any]:
        """The entries of a session file."""
        return [json.loads(line) for line in self.place.sessions()[session].read_text().splitlines()]


@dataclass
class Scenario:
    """`replies`: of the model server, or what makes one for a request. `answers`: to dialogs, by their title (RPC).

    `settled`: how many runs settle in all, where an extension starts some of its own after the prompts (RPC).
    """

    replies: Any = ()
    prompts: Sequence[str] = ("go",)
    words: Sequence[str] = ()
    model: str = "stub/m1"
    answers: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    settled: int = 0


def play(mode: str, example: str, place: Place, scenario: Scenario) -> Played:
    """Run the program with an example."""
    words = ["-e", str(EXAMPLES / example), "--model", scenario.model, *scenario.words]
    with ScriptedServer(scenario.replies if callable(scenario.replies) else list(scenario.replies)) as server:
        place.write_models(server.url)
        played = Played(mode, place, server.requests)
        if mode == "rpc":
            with rpc(place, *words, env=scenario.env) as client:
                _drive(client, scenario)
                assert client.close() == 0, client.stderr
                played.records, played.stderr = client.records, client.stderr
            assert not client.junk
        else:
            how = ["-p"] if mode == "print" else ["--mode", "json"]
            done = place.run(*how, *words, "--", *scenario.prompts, env=scenario.env)
            played.stdout, played.stderr = done.stdout, done.stderr
            assert done.exit == 0, done.stderr
            if mode == "json":
                played.records = done.records
    assert "Traceback" not in played.stderr, played.stderr
    assert "error (" not in played.stderr, played.stderr
    assert not [record for record in played.records if record.get("type") == "extension_error"], played.records[-3:]
    return played


def _drive(client: RpcClient, scenario: Scenario) -> None:
    """Send the prompts one after the other and answer the dialogs meanwhile.

    A prompt that comes while an extension has a run going on follows it, as in the other modes. It is over with the
    first run that settles behind its response, for what is accepted belongs to a run that goes on.
    """
    answered: set[str] = set()

    def until(done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, (client.records[-3:], client.stderr)
            _answer(client, scenario, answered)
            time.sleep(0.02)

    for prompt in scenario.prompts:
        id = client.send("prompt", message=prompt, streamingBehavior="followUp")
        until(lambda id=id: client.find(type="response", id=id) is not None)
        place = client.find(type="response", id=id)
        assert place is not None
        assert client.records[place]["success"], client.records[place]
        if not prompt.startswith("/"):
            until(lambda place=place: client.find(place, type="agent_settled") is not None)
    until(lambda: len(client.events("agent_settled")) >= scenario.settled)
    until(lambda: not client.data("get_state")["isStreaming"])


def _answer(client: RpcClient, scenario: Scenario, answered: set[str]) -> None:
    for record in list(client.records):
        if record.get("method") in DIALOGS and record["id"] not in answered:
            answered.add(record["id"])
            given = scenario.answers.get(record["title"])
            answer = (
                {"cancelled": True} if given is None else {"confirmed": given} if given is True else {"value": given}
            )
            client.write(json.dumps({"type": "extension_ui_response", "id": record["id"], **answer}) + "\n")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or ())


def git(place: Place, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=place.cwd, env=place.environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(place: Place) -> None:
    git(place, "init", "-q")
    git(place, "config", "user.name", "Ada")
    git(place, "config", "user.email", "ada@localhost")
    (place.cwd / "a.txt").write_text("one\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Begin")


every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
def test_git_status(mode: str, place: Place) -> None:
    repository(place)
    (place.cwd / "new.txt").write_text("x")
    played = play(mode, "git_status.py", place, Scenario([openai("Done.")]))
    assert played.texts()[0] == "go"
    assert played.texts()[1].startswith("Working tree:\n## ")
    assert "?? new.txt" in played.texts()[1]


@every_mode
def test_rust_mode(mode: str, place: Place) -> None:
    (place.cwd / "Cargo.toml").write_text("[package]\n")
    rustfmt = place.home / "bin" / "rustfmt"
    rustfmt.parent.mkdir()
    rustfmt.write_text('#!/bin/sh\nfor last; do :; done\necho "Diff in $last"\nexit 1\n')
    rustfmt.chmod(0o755)
    env = {"PATH": f"{rustfmt.parent}:{place.environment()['PATH']}"}
    replies = [openai(Call("write", {"path": "main.rs", "content": "fn main(){}"})), openai("Done.")]
    played = play(mode, "rust_mode.py", place, Scenario(replies, env=env))
    assert "This is a Rust project" in played.prompt()
    assert "rustfmt would change this file:\nDiff in main.rs" in played.results()[0]


@every_mode
def test_claude_rules(mode: str, place: Place) -> None:
    rules = place.cwd / ".claude" / "rules"
    (rules / "web").mkdir(parents=True)
    (rules / "api.md").write_text("---\ndescription: How the API is made\n---\nLong text\n")
    (rules / "web" / "css.md").write_text("# Style sheets\nMore\n")
    played = play(mode, "claude_rules.py", place, Scenario([openai("Done.")]))
    assert "- .claude/rules/api.md: How the API is made\n- .claude/rules/web/css.md: Style sheets" in played.prompt()
    assert "Long text" not in played.prompt()


@every_mode
def test_permission_gate(mode: str, place: Place) -> None:
    (place.cwd / "x").mkdir()
    replies = [openai(Call("bash", {"command": "rm -rf x"})), openai("Done.")]
    played = play(mode, "permission_gate.py", place, Scenario(replies, answers={"Run this command?": True}))
    assert (place.cwd / "x").exists() == (mode != "rpc")
    assert ("nobody is here" in played.results()[0]) == (mode != "rpc")
    played = play(mode, "permission_gate.py", place, Scenario(replies, words=["--yolo"]))
    assert not (place.cwd / "x").exists()


def test_permission_gate_refused(place: Place) -> None:
    (place.cwd / "x").mkdir()
    replies = [
        openai(Call("bash", {"command": "git status; rm -r x"}), Call("bash", {"command": "echo ok"}, "c2")),
        openai("Done."),
    ]
    played = play("rpc", "permission_gate.py", place, Scenario(replies))
    assert (place.cwd / "x").exists()
    assert played.results()[0] == "The user refused this command."
    assert played.results()[1].startswith("ok")


@every_mode
def test_protected_paths(mode: str, place: Place) -> None:
    repository(place)
    (place.cwd / "link").symlink_to(".git")
    calls = [
        Call("write", {"path": path, "content": "x"}, f"c{n}")
        for n, path in enumerate((".env", "link/config", "ok.txt"))
    ]
    played = play(mode, "protected_paths.py", place, Scenario([openai(*calls), openai("Done.")]))
    env, link, ok = played.results()
    assert ".env is protected" in env
    assert ".git is protected" in link
    assert "protected" not in ok
    assert (place.cwd / "ok.txt").read_text() == "x"
    assert not (place.cwd / ".env").exists()
    assert [record["notifyType"] for record in played.shown] == (["warning"] * 2 if mode == "rpc" else [])


@every_mode
def test_plan_mode(mode: str, place: Place) -> None:
    (place.cwd / "x").write_text("x")
    calls = [Call("bash", {"command": command}, f"c{n}") for n, command in enumerate(("rm x", "ls; rm x", "ls"))]
    plan = "I looked.\n\nPlan:\n1. Read x\n2. Remove x\n"
    replies = [openai(*calls), openai(plan), openai("All done. [DONE:1] [DONE:2]")]
    scenario = Scenario(replies, words=["--plan"], answers={"The plan is ready": "Carry it out"}, settled=2)
    played = play(mode, "plan_mode.py", place, scenario)
    assert played.tools(0) == ["read", "bash", "grep", "find", "ls"]
    assert "[Plan mode]" in played.texts(0)[1]
    blocked, chained, listed = played.results(1)
    assert blocked.startswith("Plan mode:")
    assert chained.startswith("Plan mode:")
    assert listed.strip() == "x"
    assert (place.cwd / "x").exists()
    saved = [entry["data"] for entry in played.entries() if entry.get("customType") == "plan-mode" and "data" in entry]
    assert [step["what"] for step in saved[0]["steps"]] == ["Read x", "Remove x"]
    if mode == "rpc":
        assert "write" in played.tools(2)
        assert "1. Read x" in "\n".join(played.texts(2))
        assert played.shown[-1]["widgetLines"] == ["[x] Read x", "[x] Remove x"]
        assert all(step["done"] for step in saved[-1]["steps"])


@every_mode
def test_subagent(mode: str, place: Place) -> None:
    (place.agent / "agents").mkdir(parents=True)
    (place.agent / "agents" / "scout.md").write_text(
        "---\nname: scout\ndescription: Finds things\ntools: read, grep\n---\nYou are the scout.\n"
    )

    def reply(request: Request) -> Any:
        tools = [tool["function"]["name"] for tool in request.body["tools"]]
        last = request.body["messages"][-1]
        if "subagent" not in tools:
            return openai(f"Found {_text(last['content'])}")
        if last["role"] == "tool":
            return openai("Both are back.")
        tasks = [{"agent": "scout", "task": task} for task in ("apples", "pears")]
        return openai(Call("subagent", {"tasks": tasks}))

    played = play(mode, "subagent", place, Scenario(reply))
    children = [request for request in played.requests if "subagent" not in str(request.body["tools"])]
    assert [len(request.body["messages"]) for request in children] == [2, 2]
    for child in children:
        assert [tool["function"]["name"] for tool in child.body["tools"]] == ["read", "grep"]
        assert "You are the scout." in _text(child.body["messages"][0]["content"])
    assert played.results() == ["## scout: done\n\nFound apples\n\n## scout: done\n\nFound pears"]
    if mode != "print":
        updates = [r for r in played.records if r["type"] == "tool_execution_update"]
        lines = {line for update in updates for line in update["partialResult"]["content"][0]["text"].split("\n")}
        assert any(line.startswith("scout: running") for line in lines)
        (end,) = [r for r in played.records if r["type"] == "tool_execution_end"]
        assert [run["state"] for run in end["result"]["details"]["runs"]] == ["done", "done"]
        assert end["result"]["details"]["runs"][0]["tokens"] > 0


@every_mode
def test_todo(mode: str, place: Place) -> None:
    replies = [
        openai(
            Call("todo", {"action": "add", "what": "write tests"}), Call("todo", {"action": "done", "number": 7}, "c2")
        ),
        openai(Call("todo", {"action": "done", "number": "1"}, "c3")),
        openai("Done."),
        openai(Call("todo", {"action": "list"}, "c4")),
        openai("That was the list."),
    ]
    played = play(mode, "todo.py", place, Scenario(replies, prompts=["go", "/todos", "list"]))
    assert played.results() == ["1. [ ] write tests", "There is no item 7", "1. [x] write tests", "1. [x] write tests"]
    if mode == "rpc":
        statuses = [record.get("statusText") for record in played.shown if record["method"] == "setStatus"]
        assert statuses[-1] == "1/1 done"
        assert "1. [x] write tests" in [record.get("message") for record in played.shown]
    restored = play(mode, "todo.py", place, Scenario(replies[3:], prompts=["list"], words=["--continue"]))
    assert restored.results()[-1] == "1. [x] write tests"


@every_mode
def test_cheap_compaction(mode: str, place: Place) -> None:
    place.write_settings({"compaction": {"keepRecentTokens": 10, "reserveTokens": 4000}})
    full = {"prompt_tokens": 22_000, "completion_tokens": 5, "total_tokens": 22_005}

    def reply(request: Request) -> Any:
        if request.body["model"] == "m2-think":
            return openai("A cheap summary.")
        return openai("word " * 100, usage=full) if "second" not in str(request.body) else openai("Done.")

    scenario = Scenario(
        reply, prompts=["first " * 50, "second"], words=["--summary-model", "stub/m2-think"], model="stub/m3-small"
    )
    played = play(mode, "cheap_compaction.py", place, scenario)
    (summary,) = [request for request in played.requests if request.body["model"] == "m2-think"]
    assert "for a colleague who takes over" in str(summary.body)
    assert "A cheap summary." in played.texts()[0]
    (entry,) = [entry for entry in played.entries() if entry["type"] == "compaction"]
    assert (entry["summary"], entry["fromHook"]) == ("A cheap summary.", True)


def test_cheap_compaction_falls_back(place: Place) -> None:
    place.write_settings({"compaction": {"keepRecentTokens": 1}, "retry": {"enabled": False}})

    def reply(request: Request) -> Any:
        if request.body["model"] == "m2-think":
            return {"status": 500, "json": {"error": {"message": "down"}}}
        return openai("## The built-in summary" if "summar" in str(request.body).lower() else "word " * 50)

    with ScriptedServer(reply) as server:
        place.write_models(server.url)
        words = ["-e", str(EXAMPLES / "cheap_compaction.py"), "--summary-model", "stub/m2-think", "--model", "stub/m1"]
        with rpc(place, *words) as client:
            client.prompt("first " * 50)
            client.prompt("second " * 50)
            assert "The built-in summary" in client.data("compact")["summary"]
            assert [record["notifyType"] for record in client.events("extension_ui_request")] == ["warning"]


@every_mode
def test_git_checkpoint(mode: str, place: Place) -> None:
    repository(place)
    replies = [
        openai(
            Call("write", {"path": "a.txt", "content": "two\n"}), Call("write", {"path": "b.txt", "content": "b"}, "c2")
        ),
        openai("Done."),
    ]
    played = play(mode, "git_checkpoint.py", place, Scenario(replies))
    first, second = [
        entry["data"]["commit"] for entry in played.entries() if entry.get("customType") == "git-checkpoint"
    ]
    assert git(place, "show", f"{first}:a.txt") == "one"
    assert git(place, "show", f"{second}:a.txt") == "two"
    assert git(place, "show", f"{second}:b.txt") == "b"
    assert git(place, "status", "--porcelain") == "M a.txt\n?? b.txt"
    assert git(place, "log", "--oneline", "--format=%s") == "Begin"


@every_mode
def test_auto_commit(mode: str, place: Place) -> None:
    repository(place)
    replies = [openai(Call("write", {"path": "b.txt", "content": "b"})), openai("Add b\n\nIt was missing.")]
    play(mode, "auto_commit.py", place, Scenario(replies))
    assert git(place, "log", "-1", "--format=%s|%b") == "[piolet] Add b|It was missing."
    assert git(place, "status", "--porcelain") == ""


@every_mode
def test_handoff(mode: str, place: Place) -> None:
    replies = [openai("One."), openai("The goal is tests. Look at a.py."), openai("On it.")]
    scenario = Scenario(
        replies, prompts=["question", "/handoff write tests"], answers={"Handoff": "Edited: write tests."}, settled=2
    )
    played = play(mode, "handoff.py", place, scenario)
    assert "Goal: write tests" in played.texts(1)[0]
    assert "[User]: question" in played.texts(1)[0]
    assert played.texts(2) == ["Edited: write tests." if mode == "rpc" else "The goal is tests. Look at a.py."]
    old, new = played.place.sessions()
    assert json.loads(new.read_text().split("\n")[0])["parentSession"] == str(old)


@every_mode
def test_dynamic_tools(mode: str, place: Place) -> None:
    replies = [
        openai(Call("echo_session", {"message": "hi"})),
        openai("Done."),
        openai(Call("shout", {"message": "hey"}, "c2")),
        openai("Done."),
    ]
    played = play(mode, "dynamic_tools.py", place, Scenario(replies, prompts=["go", "/add-tool shout", "again"]))
    assert "shout" not in played.tools(0)
    assert played.tools(2)[-2:] == ["echo_session", "shout"]
    assert played.results() == ["session: hi", "shout: hey"]


@every_mode
def test_tool_override(mode: str, place: Place) -> None:
    (place.cwd / ".env").write_text("SECRET=1")
    (place.cwd / "a.txt").write_text("plain")
    calls = [Call("read", {"path": path}, f"c{n}") for n, path in enumerate((".env", "a.txt"))]
    played = play(mode, "tool_override.py", place, Scenario([openai(*calls), openai("Done.")]))
    refused, plain = played.results()
    assert "may hold secrets" in refused
    assert plain == "plain"
    log = [entry["data"] for entry in played.entries() if entry.get("customType") == "read-log"]
    assert [(Path(entry["path"]).name, entry["allowed"]) for entry in log] == [(".env", False), ("a.txt", True)]
    assert "Files with secrets cannot be read" in played.prompt()


@every_mode
def test_own_provider(mode: str, place: Place) -> None:
    played = play(mode, "own_provider.py", place, Scenario(prompts=["hi there"], model="lab/parrot"))
    assert played.requests == []
    if mode == "print":
        assert played.stdout == "You said: hi there\n"
    else:
        ends = [record["message"] for record in played.records if record["type"] == "message_end"]
        assert ends[-1]["content"] == [{"type": "text", "text": "You said: hi there"}]


MCP_SERVER = """
import os, sys
from mcp.server.mcpserver import MCPServer

with open("started", "a") as file:
    file.write("x")
server = MCPServer("calc")

@server.tool()
def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b

@server.tool()
def fail() -> str:
    "Fails."
    raise ValueError("cannot")

@server.tool()
def die() -> str:
    "Dies."
    os._exit(3)

if sys.argv[1:] == ["http"]:
    import uvicorn, socket
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])
else:
    server.run()
"""


@contextmanager
def mcp_over_http(place: Place) -> Iterator[str]:
    command = [sys.executable, str(place.cwd / "calc.py"), "http"]
    with subprocess.Popen(command, cwd=place.home, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.kill()


def mcp_config(place: Place, servers: Mapping[str, Any]) -> None:
    place.agent.mkdir(parents=True, exist_ok=True)
    (place.agent / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


CALC_CALLS = [
    openai(Call("mcp", {"action": "tools", "server_name": "calc"})),
    openai(
        Call("mcp", {"action": "call", "server_name": "calc", "tool": "add", "arguments": {"a": 1, "b": 2}}, "c2"),
        Call("mcp", {"action": "call", "server_name": "calc", "tool": "fail"}, "c3"),
        Call("mcp", {"action": "tools", "server_name": "nowhere"}, "c4"),
        Call("mcp", {"action": "tools", "server_name": "broken"}, "c5"),
    ),
    openai("Done."),
]


@every_mode
def test_mcp_client_over_standard_streams(mode: str, place: Place) -> None:
    pytest.importorskip("mcp")
    (place.cwd / "calc.py").write_text(MCP_SERVER)
    calc = {"command": sys.executable, "args": ["calc.py"]}
    mcp_config(place, {"calc": calc, "broken": {"command": "no-such-program"}, "off": {"url": "x", "disabled": True}})
    quiet = play(mode, "mcp_client", place, Scenario([openai("No tools needed.")]))
    assert "mcp" in quiet.tools()
    assert not (place.cwd / "started").exists()
    played = play(mode, "mcp_client", place, Scenario(CALC_CALLS))
    tools, added, failed, nowhere, broken = played.results()
    assert tools.startswith("add: Adds two numbers.\n")
    assert added == "3"
    assert failed == "Error executing tool fail"
    assert nowhere == "There is no server nowhere; there are: calc, broken"
    assert broken.startswith("The MCP server broken cannot be used")
    assert (place.cwd / "started").read_text() == "x"


def test_mcp_client_starts_a_server_that_died_again(place: Place) -> None:
    pytest.importorskip("mcp")
    (place.cwd / "calc.py").write_text(MCP_SERVER)
    mcp_config(place, {"calc": {"command": sys.executable, "args": ["calc.py"]}})
    calls = [{"tool": "die"}, {"tool": "add", "arguments": {"a": 2, "b": 3}}]
    replies = [openai(Call("mcp", {"action": "call", "server_name": "calc", **call}, call["tool"])) for call in calls]
    played = play("print", "mcp_client", place, Scenario([*replies, openai("Done.")]))
    assert played.results() == ["Connection closed", "5"]
    assert (place.cwd / "started").read_text() == "xx"


@every_mode
def test_mcp_client_over_http_with_tools_of_its_own(mode: str, place: Place) -> None:
    pytest.importorskip("mcp")
    (place.cwd / "calc.py").write_text(MCP_SERVER)
    with mcp_over_http(place) as url:
        mcp_config(place, {"calc": {"url": url, "headers": {"x-who": "ada"}, "direct": True}})
        replies = [CALC_CALLS[0], openai(Call("calc_add", {"a": 20, "b": 22}, "c2")), openai("Done.")]
        played = play(mode, "mcp_client", place, Scenario(replies))
    assert "calc_add" not in played.tools(0)
    assert "calc_add" in played.tools(1)
    assert played.results()[-1] == "42"


@every_mode
def test_file_trigger(mode: str, place: Place) -> None:
    (place.cwd / "trigger").write_text("The build failed.\n")
    said = "trigger says: The build failed."

    def reply(request: Request) -> Any:
        """Let the run go on until the words of the file have come, before the prompt or during its run."""
        return openai("Noted.") if said in str(request.body) else openai(Call("bash", {"command": "sleep 0.1"}))

    played = play(mode, "file_trigger.py", place, Scenario(reply, words=["--trigger-file", "trigger"]))
    assert {"go", said} <= set(played.texts())
    assert (place.cwd / "trigger").read_text() == ""


@every_mode
def test_notify(mode: str, place: Place) -> None:
    ring = place.cwd / "ring.sh"
    ring.write_text('#!/bin/sh\necho "$1" >> rung\n')
    ring.chmod(0o755)
    words = ["--notify-command", "./ring.sh", "--notify-after", "0", "--name", "Work"]
    play(mode, "notify.py", place, Scenario([openai("Done.")], words=words))
    assert (place.cwd / "rung").read_text() == "Work is done\n"


@every_mode
def test_preset(mode: str, place: Place) -> None:
    place.agent.mkdir(parents=True)
    preset = {
        "provider": "stub",
        "model": "m2-think",
        "thinkingLevel": "low",
        "tools": ["read", "ls"],
        "instructions": "Review only.",
    }
    (place.agent / "presets.json").write_text(json.dumps({"review": preset}))
    scenario = Scenario(
        [openai("One."), openai("Two.")], prompts=["go", "/preset none", "again"], words=["--preset", "review"]
    )
    played = play(mode, "preset.py", place, scenario)
    assert (played.requests[0].body["model"], played.tools(0)) == ("m2-think", ["read", "ls"])
    assert "Review only." in played.prompt(0)
    assert "Review only." not in played.prompt(1)
    assert played.tools(1) == ["read", "bash", "edit", "write"]


@every_mode
def test_session_name(mode: str, place: Place) -> None:
    question = "Please find out why the tests of the parser are slow on Mondays"
    scenario = Scenario([openai("One."), openai("Two.")], prompts=[question, "/session-name Slow parser", "more"])
    played = play(mode, "session_name.py", place, scenario)
    names = [entry["name"] for entry in played.entries() if entry["type"] == "session_info"]
    assert names == ["Please find out why the tests of the parser are…", "Slow parser"]


@every_mode
def test_what_draws_on_a_screen_gets_on_without_one(mode: str, place: Place) -> None:
    names = sorted(path.name for path in EXAMPLES.glob("ui_*.py"))
    commands = ["/remind be brief", "/plan read, write", "/done", "/footer", "/questionnaire", "/snake"]
    commands += ["/rainbow", "/border", "/tools", "/overlays", "/tictactoe"]
    words = [word for name in names[1:] for word in ("-e", str(EXAMPLES / name))]
    scenario = Scenario([openai("One."), openai("Two.")], prompts=["go", *commands, "again"], words=words)
    played = play(mode, names[0], place, scenario)
    assert len(played.requests) == 2
    assert "be brief" in played.texts(1)
    if mode == "rpc":
        widgets = [record["widgetLines"] for record in played.shown if record["method"] == "setWidget"]
        assert any("read" in "".join(lines or ()) for lines in widgets)


def test_every_example_is_tested_and_listed() -> None:
    names = {path.stem for path in EXAMPLES.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    tests = Path(__file__).parent.glob("test_*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in tests)
    tested = {name for name in names if f'"{name}.py"' in source or f'"{name}"' in source}
    assert names == tested
    assert len(names) == 41
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert {name for name in names if f"`{name}" in readme} == names


def test_the_examples_pass_strict_checks() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache")]
    files = [str(path) for path in sorted(EXAMPLES.glob("*.py"))]
    for what, cwd in ((files, ROOT), (["subagent"], EXAMPLES), (["mcp_client"], EXAMPLES)):
        env = {**os.environ, "MYPYPATH": str(ROOT / "src")}
        done = subprocess.run([*command, *cache, *what], cwd=cwd, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
