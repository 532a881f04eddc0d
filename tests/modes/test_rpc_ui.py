"""Dialogs, notices and commands of extensions over RPC (the RPC specification, sections 2 and 4)."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.replies import openai
from tests.support.rpc import PATIENCE, RpcClient, rpc
from tests.support.run import ROOT, Place
from tests.support.server import Reply, Request, ScriptedServer

HOST = (sys.executable, str(Path(__file__).with_name("rpc_host.py")))
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: openai("Hello world.")) as server:
        yield server


@pytest.fixture
def client(place: Place, server: ScriptedServer) -> Iterator[RpcClient]:
    place.write_models(server.url)
    with rpc(place, command=HOST, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}) as client:
        yield client


def requests(client: RpcClient) -> list[dict[str, object]]:
    return [
        {key: value for key, value in record.items() if key not in ("type", "id")}
        for record in client.events("extension_ui_request")
    ]


def answer(client: RpcClient, title: str, **fields: object) -> None:
    asked = client.wait(type="extension_ui_request", title=title)
    client.write(json.dumps({"type": "extension_ui_response", "id": asked["id"], **fields}) + "\n")


def test_every_request_and_answer(client: RpcClient) -> None:
    client.write('{"type":"extension_ui_response","id":"nobody","value":"x"}\n')
    id = client.send("prompt", message="/show you")
    answer(client, "Pick", value="b")
    answer(client, "Sure?", confirmed=True)
    answer(client, "Name", value="Zoe")
    answer(client, "Edit", value="edited")
    answer(client, "Cancelled", cancelled=True)
    answer(client, "Odd")
    assert client.response(id)["data"] == {"disposition": "handled"}
    assert requests(client) == [
        {"method": "notify", "message": "hello you", "notifyType": "warning"},
        {"method": "notify", "message": "plain"},
        {"method": "setStatus", "statusKey": "k", "statusText": "busy"},
        {"method": "setStatus", "statusKey": "k"},
        {"method": "setWidget", "widgetKey": "w", "widgetLines": ["l1", "l2"], "widgetPlacement": "belowEditor"},
        {"method": "setWidget", "widgetKey": "w"},
        {"method": "setTitle", "title": "title"},
        {"method": "set_editor_text", "text": "text"},
        {"method": "select", "title": "Pick", "options": ["a", "b"]},
        {"method": "confirm", "title": "Sure?", "message": "Really"},
        {"method": "input", "title": "Name", "placeholder": "ph"},
        {"method": "editor", "title": "Edit", "prefill": "pre"},
        {"method": "select", "title": "Cancelled", "options": ["x"]},
        {"method": "confirm", "title": "Timeout", "message": "m", "timeout": 300},
        {"method": "input", "title": "Odd"},
        {"method": "notify", "message": '["b", true, "Zoe", "edited", null, false, null]', "notifyType": "info"},
        {"method": "notify", "message": '["rpc", true, "", 0]', "notifyType": "info"},
    ]
    ids = [record["id"] for record in client.events("extension_ui_request")]
    assert all(UUID.fullmatch(id) for id in ids)
    assert len(set(ids)) == len(ids)
    assert client.close() == 0


def test_an_abort_signal_ends_a_dialog_and_keeps_the_next_from_opening(client: RpcClient) -> None:
    client.request("prompt", message="/give-up")
    assert [request.get("title", request.get("message")) for request in requests(client)] == [
        "Waiting",
        "[null, null]",
    ]


def test_a_command_that_raises_is_reported_and_the_prompt_counts_as_handled(client: RpcClient) -> None:
    assert client.request("prompt", message="/fail now")["data"] == {"disposition": "handled"}
    failure = client.wait(type="extension_error")
    assert (failure["event"], failure["error"]) == ("command:fail", "this command is broken")


def test_commands_are_listed_with_their_source(client: RpcClient) -> None:
    commands = client.data("get_commands")["commands"]
    assert commands[0] == {
        "name": "show",
        "description": "Does show",
        "source": "extension",
        "sourceInfo": {"path": "host.py", "source": "local", "scope": "temporary", "origin": "top-level"},
    }


def test_commands_run_while_streaming_and_cannot_be_queued(place: Place) -> None:
    slow = [{**openai("Hello."), "delay_ms": 1000}]
    with ScriptedServer(slow) as server:
        place.write_models(server.url)
        with rpc(place, command=HOST, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}) as client:
            client.request("prompt", message="hi")
            assert client.request("prompt", message="/fail")["data"] == {"disposition": "handled"}
            for command in ("steer", "follow_up"):
                refused = client.request(command, message="/fail now")
                assert refused["error"].startswith('Extension command "/fail" cannot be queued.')
            client.wait(type="agent_settled")


def test_input_handlers_take_and_change_prompts(client: RpcClient, server: ScriptedServer) -> None:
    assert client.request("prompt", message="swallow")["data"] == {"disposition": "handled"}
    assert client.request("steer", message="swallow")["data"] == {"disposition": "handled"}
    client.prompt("shout hello")
    assert [request.body["messages"][-1]["content"][0]["text"] for request in server.requests] == ["SHOUT HELLO"]


def test_a_shutdown_that_an_extension_asks_for_ends_when_idle(client: RpcClient) -> None:
    client.prompt("hi")
    assert client.request("prompt", message="/stop")["success"]
    assert client.wait_for_exit() == 0


def test_a_shutdown_waits_for_the_run(place: Place) -> None:
    asked = threading.Event()

    def reply(request: Request) -> Reply:
        assert asked.wait(PATIENCE)
        return openai("Hello.")

    with ScriptedServer(reply) as server:
        place.write_models(server.url)
        with rpc(place, command=HOST, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}) as client:
            client.request("prompt", message="hi")
            client.request("prompt", message="/stop")
            asked.set()
            assert client.wait_for_exit() == 0
            assert client.records[-1]["type"] == "agent_settled"


def test_a_handler_can_refuse_another_session(place: Place, server: ScriptedServer) -> None:
    place.write_models(server.url)
    with rpc(place, "refuse", command=HOST, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}) as client:
        client.prompt("hi")
        (point,) = client.data("get_fork_messages")["messages"]
        before = client.data("get_state")["sessionId"]
        assert client.data("new_session") == {"cancelled": True}
        assert client.data("switch_session", sessionPath="x.jsonl") == {"cancelled": True}
        assert client.data("fork", entryId=point["entryId"]) == {"text": "", "cancelled": True}
        assert client.data("clone") == {"cancelled": True}
        assert client.data("get_state")["sessionId"] == before
