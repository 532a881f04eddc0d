from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time

import httpx
import pytest

from tests.support import replies
from tests.support.server import Reply, Request, ScriptedServer


def post(server: ScriptedServer, body: object = None) -> httpx.Response:
    return httpx.post(
        server.url + "/v1/chat/completions", json=body or {"model": "m1"}, headers={"X-Test": "yes"}, timeout=60
    )


def test_the_nth_post_gets_the_nth_reply_then_400() -> None:
    with ScriptedServer(
        [{"json": {"a": 1}}, {"text": "busy", "status": 503, "headers": {"retry-after": "2"}}]
    ) as server:
        first, second, third = post(server), post(server), post(server)
    assert first.json() == {"a": 1}
    assert first.headers["content-type"] == "application/json"
    assert (second.status_code, second.text, second.headers["retry-after"]) == (503, "busy", "2")
    assert (third.status_code, third.json()) == (400, {"error": {"message": "script exhausted"}})


def test_a_get_is_404_and_takes_no_reply() -> None:
    with ScriptedServer([{"text": "first"}]) as server:
        assert httpx.get(server.url + "/v1/models").status_code == 404
        assert post(server).text == "first"
    assert [request.path for request in server.others] == ["/v1/models"]


def test_requests_keep_path_headers_and_body() -> None:
    with ScriptedServer([{"text": ""}]) as server:
        post(server, {"model": "m1", "messages": ["ü"]})
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["x-test"] == "yes"
    assert request.body == {"model": "m1", "messages": ["ü"]}


def test_stream_steps_become_events_of_the_requested_model() -> None:
    steps = [{"delta": {"content": "a"}}, {"raw": ": hi\n\n"}, {"finish": "stop"}, {"usage": {"x": 1}}, {"done": True}]
    with ScriptedServer([{"text": ""}, {"stream": [*steps, {"chunk": {"odd": 1}}]}]) as server:
        post(server)
        lines = [line for line in post(server, {"model": "m7"}).text.split("\n\n") if line]
    head = {"id": "chatcmpl-2", "object": "chat.completion.chunk", "created": 1700000000, "model": "m7"}
    assert json.loads(lines[0].removeprefix("data: ")) == head | {
        "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]
    }
    assert lines[1] == ": hi"
    assert json.loads(lines[2].removeprefix("data: "))["choices"] == [
        {"index": 0, "delta": {}, "finish_reason": "stop"}
    ]
    assert json.loads(lines[3].removeprefix("data: ")) == head | {"choices": [], "usage": {"x": 1}}
    assert lines[4] == "data: [DONE]"
    assert lines[5] == 'data: {"odd":1}'


def test_each_step_is_sent_before_the_next_one_is_due() -> None:
    with ScriptedServer([{"stream": [{"raw": "one"}, {"sleep_ms": 30_000}, {"raw": "two"}]}]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]))
        connection.request("POST", "/", b"{}")
        with connection.getresponse() as response:
            assert response.read(3) == b"one"
        connection.close()
        assert server.wait_for_disconnects() == [1]


def test_leaving_ends_replies_under_way_and_idle_connections() -> None:
    started = time.monotonic()
    with ScriptedServer([{"delay_ms": 30_000, "text": ""}]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]))
        connection.request("POST", "/", b"{}")
        idle = socket.create_connection(("127.0.0.1", connection.port))
        server.wait_for_requests(1)
    connection.close()
    idle.close()
    assert server.disconnects == []
    assert time.monotonic() - started < 20


def test_reset_breaks_the_connection_and_close_ends_it() -> None:
    with ScriptedServer(
        [{"stream": [{"raw": "x"}, {"reset": True}]}, {"stream": [{"raw": "x"}, {"close": True}]}]
    ) as server:
        with pytest.raises(httpx.ReadError):
            post(server)
        assert post(server).text == "x"


def test_a_callable_script_answers_by_request_and_its_failure_is_raised() -> None:
    with ScriptedServer(lambda request: {"text": request.body["model"]}) as server:
        assert [post(server, {"model": name}).text for name in "abc"] == ["a", "b", "c"]
    with (
        pytest.raises(KeyError, match="no such key"),
        ScriptedServer(lambda request: request.body["no such key"]) as server,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        post(server)


async def test_many_clients_are_served_at_the_same_time() -> None:
    count = 100
    together = threading.Barrier(count, timeout=60)

    def reply(request: Request) -> Reply:
        together.wait()
        return {"text": request.body["model"]}

    with ScriptedServer(reply) as server:
        async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=count)) as client:
            answers = await asyncio.gather(*(client.post(server.url, json={"model": str(n)}) for n in range(count)))
    assert [answer.text for answer in answers] == [str(n) for n in range(count)]


def test_the_port_is_free_after_leaving() -> None:
    with ScriptedServer() as server:
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))


def test_openai_replies_stream_blocks_in_order_and_number_the_calls() -> None:
    reply = replies.openai(
        replies.Thinking("hm"), "Hello", replies.Call("read", {"path": "a"}), replies.Call("ls", id="c2")
    )
    with ScriptedServer([reply]) as server:
        events = post(server).text.removesuffix("data: [DONE]\n\n").split("\n\n")
    deltas = [c["delta"] for e in events if e for c in json.loads(e.removeprefix("data: "))["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == "Hello"
    assert [delta["reasoning_content"] for delta in deltas if "reasoning_content" in delta] == ["hm"]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert [(call["index"], call["id"]) for call in calls if "id" in call] == [(0, "call_1"), (1, "c2")]
    arguments = "".join(call["function"]["arguments"] for call in calls if call["index"] == 0)
    assert json.loads(arguments) == {"path": "a"}
    assert reply["stream"][-3] == {"finish": "tool_calls"}


def test_anthropic_replies_frame_each_block() -> None:
    reply = replies.anthropic(replies.Thinking("hm", "sig"), "Hello you", replies.Call("read", {"path": "a"}))
    with ScriptedServer([reply]) as server:
        text = post(server).text
    events = [json.loads(event.partition("\ndata: ")[2]) for event in text.split("\n\n") if event]
    assert [event["type"] for event in events][:2] == ["message_start", "ping"]
    starts = [(e["index"], e["content_block"]["type"]) for e in events if e["type"] == "content_block_start"]
    assert starts == [(0, "thinking"), (1, "text"), (2, "tool_use")]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "Hello you"
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"path": "a"}
    assert {"type": "signature_delta", "signature": "sig"} in deltas
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1] == {"type": "message_stop"}
