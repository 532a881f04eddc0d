"""Every example of the SDK runs against a model server on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.browser import CHROMIUM, Browser
from tests.support.replies import Call, openai
from tests.support.run import ROOT, Finished, Place
from tests.support.server import Request, ScriptedServer
from tests.support.servers import free_port

SDK = ROOT / "examples" / "sdk"
Reply = dict[str, Any]


def _run(place: Place, server: ScriptedServer, name: str, *argv: str) -> Finished:
    place.write_models(server.url)
    done = place.run(*argv, command=(sys.executable, "-W", "error", str(SDK / name)))
    assert done.exit == 0, done.stderr
    return done


def _last(request: Request) -> str:
    content = request.body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def test_minimal(place: Place) -> None:
    (place.cwd / "a.txt").write_text("hello")
    with ScriptedServer([openai(Call("read", {"path": "a.txt"})), openai("It says hello.")]) as server:
        assert _run(place, server, "minimal.py", "stub/m1", "What is in a.txt?").stdout == "It says hello.\n"


def test_own_tool(place: Place) -> None:
    with ScriptedServer([openai(Call("weather", {"city": "Bern"})), openai("12 degrees.")]) as server:
        assert _run(place, server, "own_tool.py", "stub/m1", "Weather in Bern?").stdout == "12 degrees.\n"
        (tool,) = server.requests[0].body["tools"]
        assert tool["function"]["description"] == "Tell the weather of a city."
        assert json.loads(_last(server.requests[1]))["temperature"] == 12


def test_own_provider(place: Place) -> None:
    with ScriptedServer() as server:
        assert _run(place, server, "own_provider.py", "stressed").stdout == "desserts\n"


def test_resume_and_branch(place: Place, tmp_path: Path) -> None:
    with ScriptedServer([openai("Red."), openai("A fox."), openai("A cherry.")]) as server:
        done = _run(place, server, "resume_and_branch.py", "stub/m1", str(tmp_path / "sessions"))
        assert "1 branching point" in done.stdout
        sent = json.dumps(server.requests[2].body)
        assert "Name a colour" in sent
        assert "A fox" not in sent


def test_virtual_files(place: Place) -> None:
    edit = Call("edit", {"path": "notes.txt", "edits": [{"oldText": "Teh", "newText": "The"}]})
    with ScriptedServer([openai(edit), openai("Done.")]) as server:
        done = _run(place, server, "virtual_files.py", "stub/m1", "Correct it.")
        assert done.stdout == "The quick brown fox\n"
        assert list(place.cwd.iterdir()) == []


def test_customer_service(place: Place) -> None:
    asked = [(8, 400), (7, 30), (7, 1), (8, -500), (8, "-500"), (8, 0), (8, 60), (8, 60)]
    calls = [Call("refund", {"number": number, "amount": amount}, f"c{i}") for i, (number, amount) in enumerate(asked)]
    replies = [openai(Call("find_order", {"number": 7})), openai(*calls), openai("Paid back.")]
    with ScriptedServer(replies) as server:
        done = _run(place, server, "customer_service.py", "stub/m1", "I want my money back.")
        assert done.stdout == "Paid back.\n(refunded 30 francs of order 7)\n(refunded 60 francs of order 8)\n"
        assert "need a person" in json.dumps(server.requests[2].body)


def test_many_sessions(place: Place) -> None:
    def reply(request: Request) -> Reply:
        texts = [part["text"] for m in request.body["messages"] if m["role"] == "user" for part in m["content"]]
        return dict(openai(texts[0].replace("I am", "You are")))

    with ScriptedServer(reply) as server:
        done = _run(place, server, "many_sessions.py", "stub/m1", "20")
        assert done.stdout == "20 conversations, the last answer: You are visitor 19.\n"
        assert len(server.requests) == 40


def test_steering(place: Place) -> None:
    with ScriptedServer([openai(Call("bash", {"command": "date; sleep 0.5"})), openai("Lundi.")]) as server:
        assert _run(place, server, "steering.py", "stub/m1").stdout == "Lundi.\n"
        assert _last(server.requests[1]) == "Say it in French."


def _notebook_cells() -> list[str]:
    cells = json.loads((SDK / "notebook.ipynb").read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_runs_inside_a_running_event_loop(place: Place) -> None:
    script = (
        "import asyncio\n"
        f"cells = {_notebook_cells()!r}\n"
        "async def notebook():\n"
        "    names = {}\n"
        "    for cell in cells: exec(cell, names)\n"
        "    return names['answer']\n"
        "print(asyncio.run(notebook()))\n"
    )
    with ScriptedServer([openai("Nothing.")]) as server:
        place.write_models(server.url)
        done = place.run("-c", script, command=(sys.executable,))
        assert (done.stdout, done.exit) == ("Nothing.\n", 0), done.stderr


KERNEL = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], 4)
notebook.cells.append(nbformat.v4.new_code_cell("(await harness.prompt('And now?')).text"))
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
for cell in notebook.cells:
    print([output["data"]["text/plain"] for output in cell.get("outputs", [])])
"""


def test_the_notebook_runs_in_a_real_kernel(place: Place) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    with ScriptedServer([openai("Nothing."), openai("Still nothing.")]) as server:
        place.write_models(server.url)
        done = place.run("-c", KERNEL, str(SDK / "notebook.ipynb"), command=(sys.executable,), timeout=200)
        assert done.stdout.splitlines() == ["[]", "[]", "[\"'Nothing.'\"]", "[\"'Still nothing.'\"]"], done.stderr


@pytest.fixture
def served(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedServer], Any]:
    """Makes the web example's application for a model server."""
    pytest.importorskip("starlette")

    def make(server: ScriptedServer) -> Any:
        import runpy

        place.write_models(server.url)
        monkeypatch.setenv("HOME", os.fspath(place.home))
        return runpy.run_path(str(SDK / "web_stream.py"))["application"]("stub/m1")

    return make


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt install chromium)")
def test_web_stream_in_a_browser(place: Place) -> None:
    pytest.importorskip("uvicorn")
    answer = dict(openai("Hello from the web"))
    slow = {"stream": [*openai("Once upon a time")["stream"][:-3], {"sleep_ms": 600_000}]}
    port = free_port()
    with ScriptedServer([answer, slow]) as server, closing(Browser()) as browser:
        place.write_models(server.url)
        web = place.start("stub/m1", str(port), command=(sys.executable, str(SDK / "web_stream.py")))
        _wait_for_port(port, web)
        tab = browser.open(f"http://127.0.0.1:{port}/")

        def ask(question: str, answered: str) -> None:
            tab.run("document.getElementById('question').select()")
            tab.write(question)
            tab.click("button")
            tab.until(f"document.getElementById('answer').textContent === {json.dumps(answered)}")

        ask("hi & <b>bye</b>?", "Hello from the web")
        ask("a tale", "Once upon a time")  # shown while the model goes on
        tab.close()
        assert server.wait_for_disconnects(timeout=60) == [2]  # the reader is gone, and so is the run
        assert [_last(request) for request in server.requests] == ["hi & <b>bye</b>?", "a tale"]
        web.terminate()
        web.communicate()


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


async def test_web_stream(served: Callable[[ScriptedServer], Any]) -> None:
    with ScriptedServer([openai("Hello from the web")]) as server:
        transport = httpx.ASGITransport(served(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            assert "EventSource" in (await client.get("/")).text
            async with asyncio.timeout(20):
                body = (await client.get("/ask", params={"q": "hi"})).text
    records = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line]
    deltas = [r["assistantMessageEvent"].get("delta", "") for r in records if r["type"] == "message_update"]
    assert "".join(deltas) == "Hello from the web"
    assert records[-1]["type"] == "agent_settled"
