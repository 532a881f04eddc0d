"""One request over the network: tries, timeouts, aborts, texts of errors, callbacks."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from piolet.base.abort import AbortController
from piolet.llm.events import AssistantEvent, ErrorEvent
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import Model, StreamOptions
from piolet.llm.pool import HttpPool
from piolet.llm.retry import is_retryable
from piolet.llm.stream import AssistantStream
from piolet.llm.transport import run_request
from tests.llm.wire import ask, chunk, model_at, sse
from tests.support.replies import anthropic, openai
from tests.support.server import Reply, ScriptedServer
from tests.support.timing import quickest_async, until

OK = openai("fine")
HOLD = {"sleep_ms": 60_000}


async def final(server: ScriptedServer | str, pool: HttpPool, **options: Any) -> AssistantMessage:
    url = server if isinstance(server, str) else server.url
    return await run_request(model_at(url), ask(), StreamOptions(**options), pool).result()


def ok_as(content_type: str, body: bytes) -> bytes:
    """Return a response that succeeds, of that type; its body ends with the connection."""
    return f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n".encode() + body


@asynccontextmanager
async def raw_server(answer: bytes):
    """Answer every connection with the same bytes, then close it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


class TestTries:
    async def test_a_failed_request_is_repeated_as_often_as_allowed(self, pool: HttpPool) -> None:
        busy = {"status": 503, "headers": {"retry-after-ms": "1"}, "text": "busy"}
        with ScriptedServer([busy, busy, OK]) as server:
            message = await final(server, pool, max_retries=2)
            assert (message.text, len(server.requests)) == ("fine", 3)
        with ScriptedServer([busy, busy, OK]) as server:
            message = await final(server, pool, max_retries=1)
            assert (message.error_message, len(server.requests)) == ("503: busy", 2)

    async def test_nothing_is_repeated_unless_asked_for(self, pool: HttpPool) -> None:
        with ScriptedServer([{"status": 503, "text": "busy"}, OK]) as server:
            assert (await final(server, pool)).stop_reason == "error"
            assert len(server.requests) == 1

    @pytest.mark.parametrize(("status", "told", "tries"), [(400, "true", 2), (503, "false", 1), (404, None, 1)])
    async def test_the_server_says_whether_to_try_again(
        self, pool: HttpPool, status: int, told: str | None, tries: int
    ) -> None:
        headers = {"retry-after-ms": "1"} | ({"x-should-retry": told} if told else {})
        with ScriptedServer([{"status": status, "headers": headers, "text": "no"}, OK]) as server:
            await final(server, pool, max_retries=1)
            assert len(server.requests) == tries

    async def test_the_wait_that_the_server_asks_for_is_kept(self, pool: HttpPool) -> None:
        with ScriptedServer([{"status": 429, "headers": {"retry-after": "1"}, "text": "slow down"}, OK]) as server:
            await final(server, pool, max_retries=1)
            first, second = server.requests
            assert 0.95 < second.at - first.at < 10

    async def test_a_wait_beyond_the_limit_fails_at_once_and_is_named(self, pool: HttpPool) -> None:
        with ScriptedServer([{"status": 429, "headers": {"retry-after": "120"}, "text": "slow down"}, OK]) as server:
            stream = run_request(model_at(server.url), ask(), StreamOptions(max_retries=1), pool)
            message = await stream.result()
            assert len(server.requests) == 1
        assert message.error_message is not None
        assert "retry delay of 120 s" in message.error_message
        assert is_retryable(message.error_message)
        assert stream.retry_after_ms == 120_000

    async def test_the_wait_is_handed_on_when_the_request_is_given_up(self, pool: HttpPool) -> None:
        with ScriptedServer([{"status": 429, "headers": {"retry-after": "7"}, "text": "slow down"}]) as server:
            stream = run_request(model_at(server.url), ask(), StreamOptions(), pool)
            message = await stream.result()
        assert (message.error_message, stream.retry_after_ms) == ("429: slow down", 7000)

    async def test_an_answer_that_began_is_never_repeated(self, pool: HttpPool) -> None:
        with ScriptedServer([{"stream": [{"delta": {"content": "par"}}, {"reset": True}]}, OK]) as server:
            message = await final(server, pool, max_retries=3)
            assert (message.stop_reason, message.text, len(server.requests)) == ("error", "par", 1)


class TestTexts:
    async def test_a_refused_connection_is_transient_and_named(self, pool: HttpPool) -> None:
        with ScriptedServer() as server:
            url = server.url
        message = await final(url, pool)
        assert message.error_message is not None
        host = url.removeprefix("http://")
        assert message.error_message == f"Connection error: {host}: connection refused (ECONNREFUSED)"
        assert is_retryable(message.error_message)

    async def test_a_proxy_that_cannot_be_reached_is_named(self) -> None:
        with ScriptedServer() as server:
            proxy = server.url
        pool = HttpPool(proxy.replace("http://", "http://user:secret@"))
        message = await final("http://far.example", pool)
        await pool.aclose()
        host = proxy.removeprefix("http://")
        text = f"Connection error: far.example through the proxy {host}: connection refused (ECONNREFUSED)"
        assert message.error_message == text

    async def test_tls_with_a_server_that_has_none_is_told_and_not_tried_again(self, pool: HttpPool) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            host = "{}:{}".format(*server.sockets[0].getsockname())
            message = await final(f"https://{host}", pool)
        assert message.error_message == f"TLS: {host} does not speak it; is its address http, not https?"
        assert not is_retryable(message.error_message)

    async def test_an_unknown_host_is_named(self, pool: HttpPool) -> None:
        message = await final("http://piolet.invalid", pool)
        assert message.error_message is not None
        assert "piolet.invalid" in message.error_message
        assert "name resolution" in message.error_message

    @pytest.mark.parametrize("url", ["", "ftp://example.org", "http://", "http://[", "nonsense"])
    async def test_an_impossible_address_is_an_error_in_words(self, pool: HttpPool, url: str) -> None:
        message = await final(url, pool)
        assert message.stop_reason == "error"
        assert "base URL" in (message.error_message or "")
        assert not is_retryable(message.error_message or "")

    async def test_an_unknown_api_is_an_error_in_words(self, pool: HttpPool) -> None:
        message = await run_request(model_at("", api="telepathy"), ask(), StreamOptions(), pool).result()
        assert "telepathy" in (message.error_message or "")

    async def test_a_long_html_page_becomes_one_useful_line(self, pool: HttpPool) -> None:
        page = "<html><head><title>502 Bad Gateway</title><style>" + "x" * 10_000 + "</style></head><body>\n"
        page += "<h1>Bad gateway</h1>\n<p>cloud edge</p>" + "<br>" * 3000 + "</body></html>"
        with ScriptedServer([{"status": 502, "headers": {"content-type": "text/html"}, "text": page}]) as server:
            error = (await final(server, pool)).error_message
        assert error is not None
        assert error.startswith("502: ")
        assert "Bad Gateway" in error
        assert len(error) < 300
        assert "\n" not in error
        assert "<" not in error

    async def test_the_key_is_not_in_the_text_even_if_the_server_repeats_it(self, pool: HttpPool) -> None:
        key, other = "sk-very-secret-1234567890", "gateway-secret-42"
        body = {"error": {"message": f"Incorrect API key provided: {key}; {other}; team-word-7"}}
        headers = {"cf-aig-authorization": f"Bearer {other}", "x-team": "team-word-7"}
        with ScriptedServer([{"status": 401, "json": body}]) as server:
            message = await final(server, pool, api_key=key, headers=headers)
        assert message.error_message == '401: {"message":"Incorrect API key provided: ***; ***; ***"}'

    async def test_a_key_that_is_no_header_is_an_error_that_does_not_show_it(self, pool: HttpPool) -> None:
        with ScriptedServer() as server:
            message = await final(server, pool, api_key="sk-sécret\nkey")
        assert "authorization" in (message.error_message or "")
        assert "key" not in (message.error_message or "").replace("keys", "")

    async def test_a_header_that_has_no_possible_name_is_an_error_in_words(self, pool: HttpPool) -> None:
        with ScriptedServer() as server:
            message = await final(server, pool, headers={"x a": "b"})
        assert message.error_message == "The header name 'x a' holds characters that HTTP does not allow"

    async def test_a_json_answer_in_place_of_a_stream_is_an_error(self, pool: HttpPool) -> None:
        with ScriptedServer([{"json": {"error": {"message": "no such deployment"}}}]) as server:
            assert (await final(server, pool)).error_message == '200: {"message":"no such deployment"}'

    @pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "text/plain", "", "application/json"])
    async def test_what_is_no_stream_of_events_is_told_whatever_it_calls_itself(
        self, pool: HttpPool, kind: str
    ) -> None:
        async with raw_server(ok_as(kind, b"<html><title>Portal</title><body>Sign in first</body></html>")) as url:
            message = await final(url, pool)
        assert message.error_message == "200: an HTML page came instead of an answer: Portal - Sign in first"
        async with raw_server(ok_as(kind, b'{"error":"model not loaded"}')) as url:
            assert (await final(url, pool)).error_message == "200: model not loaded"
        async with raw_server(ok_as(kind, sse(chunk({"content": "hi"}, "stop"), "[DONE]"))) as url:
            assert (await final(url, pool)).text == "hi"

    @pytest.mark.parametrize("body", [b"", b": ping\n\n: ping\n\n", b"event: ping\nid: 7\n\n", b"data: [DONE]\n\n"])
    async def test_a_stream_without_any_event_is_transient(self, pool: HttpPool, body: bytes) -> None:
        async with raw_server(ok_as("text/event-stream", body)) as url:
            message = await final(url, pool)
        assert message.error_message == "Stream ended without finish_reason"

    async def test_a_page_without_end_is_not_read_for_ever(self, pool: HttpPool) -> None:
        stopped = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ok_as("text/html", b"<html>"))
            try:
                while True:
                    writer.write(b"<p>more " * 1000)
                    await writer.drain()
            except ConnectionError:
                stopped.set()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            message = await final("http://{}:{}".format(*server.sockets[0].getsockname()), pool)
            await asyncio.wait_for(stopped.wait(), 60)
        assert (message.error_message or "").startswith("200: an HTML page came instead of an answer: more")

    async def test_an_event_that_breaks_off_is_transient(self, pool: HttpPool) -> None:
        whole = sse(chunk({"content": "one"}), chunk({"content": "two"}))
        async with raw_server(ok_as("text/event-stream", whole[:-20])) as url:
            message = await final(url, pool)
        assert (message.text, message.stop_reason) == ("one", "error")
        assert message.error_message == "Stream ended before its last event was complete"
        assert is_retryable(message.error_message)

    async def test_a_redirect_names_where_it_leads(self, pool: HttpPool) -> None:
        headers = {"location": "https://user:pass@new.example/v1/chat/completions?token=x"}
        with ScriptedServer([{"status": 308, "headers": headers, "text": ""}]) as server:
            error = (await final(server, pool)).error_message
        assert error == (
            "308: the server sends on to https://new.example/v1/chat/completions: set the base URL accordingly"
        )

    async def test_a_path_that_is_not_there_is_named(self, pool: HttpPool) -> None:
        with ScriptedServer(
            [{"status": 404, "text": "404 page not found"}, {"status": 404, "json": {"error": "no m1"}}]
        ) as server:
            assert (await final(server, pool)).error_message == (
                f"404: 404 page not found (asked: {server.url}/chat/completions)"
            )
            assert (await final(server, pool)).error_message == "404: no m1"

    async def test_a_body_without_its_end_is_transient(self, pool: HttpPool) -> None:
        part = sse(chunk({"content": "par"}))
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        async with raw_server(head + b"%x\r\n%s\r\n" % (len(part), part)) as url:
            message = await final(url, pool)
        assert (message.stop_reason, message.text) == ("error", "par")
        assert is_retryable(message.error_message or "")

    @pytest.mark.parametrize(
        "answer", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\ncontent-le", b"HTTP/1.1 two OK\r\n\r\n"]
    )
    async def test_a_server_that_does_not_speak_http_is_an_error(self, pool: HttpPool, answer: bytes) -> None:
        async with raw_server(answer) as url:
            message = await final(url, pool)
        assert message.stop_reason == "error"
        assert "127.0.0.1" in (message.error_message or "")
        assert "bytearray" not in (message.error_message or "")

    async def test_a_failed_response_whose_body_breaks_off_keeps_its_status(self, pool: HttpPool) -> None:
        head = b"HTTP/1.1 503 Busy\r\ncontent-length: 100\r\n\r\nhalf a"
        async with raw_server(head) as url:
            assert (await final(url, pool)).error_message == "503: half a"


class TestTimeouts:
    async def test_silence_in_the_stream_ends_it(self, pool: HttpPool) -> None:
        steps = [{"delta": {"content": "par"}}, HOLD]
        with ScriptedServer([{"stream": steps}]) as server:
            message = await final(server, pool, idle_timeout_ms=500)
            server.wait_for_disconnects()
        assert (message.stop_reason, message.text) == ("error", "par")
        assert "timed out" in (message.error_message or "")
        assert is_retryable(message.error_message or "")

    async def test_an_answer_must_begin_in_time(self, pool: HttpPool) -> None:
        with ScriptedServer([OK | {"delay_ms": 60_000}]) as server:
            message = await final(server, pool, timeout_ms=100)
        assert "no answer within 0.1 s" in (message.error_message or "")
        assert is_retryable(message.error_message or "")

    async def test_a_long_answer_is_no_timeout(self, pool: HttpPool) -> None:
        steps: list[dict[str, Any]] = []
        for _ in range(15):
            steps += ({"delta": {"content": "x"}}, {"sleep_ms": 200})
        with ScriptedServer([{"stream": [*steps, {"finish": "stop"}]}]) as server:
            message = await final(server, pool, timeout_ms=2000, idle_timeout_ms=2000)
        assert message.text == "x" * 15


class TestEnd:
    async def test_a_server_that_does_not_close_after_the_end_is_not_waited_for(self, pool: HttpPool) -> None:
        with ScriptedServer(
            [{"stream": [{"delta": {"content": "x"}}, {"finish": "stop"}, {"done": True}, HOLD]}]
        ) as server:
            assert (await final(server, pool)).text == "x"
            server.wait_for_disconnects()
        steps = [*anthropic("x")["stream"], HOLD]
        with ScriptedServer([{"stream": steps}]) as server:
            stream = run_request(model_at(server.url, "anthropic-messages"), ask(), StreamOptions(), pool)
            assert (await stream.result()).text == "x"
            server.wait_for_disconnects()


class TestAbort:
    """The connection is closed and the stream has ended within 100 ms, wherever the request was."""

    async def aborted(
        self, pool: HttpPool, reply: Reply, when: Callable[[ScriptedServer, list[str]], object], **options: Any
    ) -> list[AssistantEvent]:
        """Abort a request when `when` holds of the server and the types of the events so far; return the events."""
        events: list[AssistantEvent] = []

        async def listen(stream: AssistantStream) -> float:
            async for event in stream:
                events.append(event)
            return time.monotonic()

        async def attempt() -> float:
            events.clear()
            controller = AbortController()
            with ScriptedServer([reply]) as server:
                asked = StreamOptions(signal=controller.signal, **options)
                stream = run_request(model_at(server.url), ask(), asked, pool)
                listening = asyncio.create_task(listen(stream))
                await until(lambda: when(server, [event.type for event in events]))
                began = time.monotonic()
                controller.abort()
                took = await listening - began
                assert len(server.requests) <= 1
                if "delay_ms" in reply or HOLD in reply.get("stream", ()):
                    server.wait_for_disconnects()
            last = events[-1]
            assert isinstance(last, ErrorEvent)
            assert (last.reason, last.error.stop_reason) == ("aborted", "aborted")
            assert last.error == await stream.result()
            return took

        assert await quickest_async(attempt, 0.1) < 0.1
        return events

    async def test_before_the_request(self, pool: HttpPool) -> None:
        controller = AbortController()
        controller.abort()
        with ScriptedServer([OK]) as server:
            message = await final(server, pool, signal=controller.signal)
            assert server.requests == []
        assert (message.stop_reason, message.error_message) == ("aborted", "Request was aborted")

    async def test_while_the_answer_is_awaited(self, pool: HttpPool) -> None:
        reply = OK | {"delay_ms": 60_000}
        events = await self.aborted(pool, reply, lambda server, seen: server.requests)
        assert [event.type for event in events] == ["error"]

    async def test_in_the_stream_what_had_arrived_is_kept(self, pool: HttpPool) -> None:
        reply = {"stream": [{"delta": {"content": "one "}}, HOLD]}
        events = await self.aborted(pool, reply, lambda server, seen: "text_delta" in seen)
        assert [event.type for event in events] == ["start", "text_start", "text_delta", "text_end", "error"]
        assert events[-1].error.text == "one "  # type: ignore[union-attr]

    async def test_in_the_wait_before_another_try(self, pool: HttpPool) -> None:
        refused: list[int] = []

        async def note(status: int, *_: object) -> None:
            refused.append(status)

        reply = {"status": 429, "headers": {"retry-after": "30"}, "text": "slow down"}
        await self.aborted(pool, reply, lambda server, seen: refused and refused.pop(), max_retries=2, on_response=note)

    @pytest.mark.parametrize("name", ["on_payload", "on_response"])
    async def test_in_a_callback(self, pool: HttpPool, name: str) -> None:
        entered: list[bool] = []

        async def forever(*_: object) -> None:
            entered.append(True)
            await asyncio.sleep(60)

        await self.aborted(pool, OK, lambda server, seen: entered and entered.pop(), **{name: forever})

    async def test_a_consumer_that_stops_closes_the_connection(self, pool: HttpPool) -> None:
        with ScriptedServer([{"stream": [{"delta": {"content": "one "}}, HOLD]}]) as server:
            stream = run_request(model_at(server.url), ask(), StreamOptions(), pool)
            async for event in stream:
                if event.type == "text_delta":
                    break
            await stream.aclose()
            server.wait_for_disconnects()

    async def test_a_cancelled_consumer_closes_the_connection(self, pool: HttpPool) -> None:
        with ScriptedServer([{"stream": [{"delta": {"content": "one "}}, HOLD]}]) as server:
            task = asyncio.create_task(final(server, pool))
            await until(lambda: server.requests)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.wait_for_disconnects()


class TestCallbacks:
    async def test_they_see_and_change_the_request_and_see_the_response(self, pool: HttpPool) -> None:
        seen: list[Any] = []

        async def on_payload(body: dict[str, Any], model: Model) -> dict[str, Any]:
            return {**body, "extra": model.id}

        async def on_headers(headers: dict[str, str | None], model: Model) -> None:
            headers["x-added"] = "1"
            headers["user-agent"] = None

        async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
            seen.append((status, headers["content-type"]))

        async def on_provider_event(record: Any, model: Model) -> None:
            seen.append(record["choices"][0]["delta"] if record["choices"] else "usage")

        with ScriptedServer([openai("hi")]) as server:
            await final(
                server,
                pool,
                on_payload=on_payload,
                on_headers=on_headers,
                on_response=on_response,
                on_provider_event=on_provider_event,
            )
            request = server.requests[0]
        assert request.body["extra"] == "m1"
        assert request.headers["x-added"] == "1"
        assert not request.headers.get("user-agent", "").startswith("piolet/")
        assert seen == [
            (200, "text/event-stream"),
            {"role": "assistant", "content": ""},
            {"content": "hi"},
            {},
            "usage",
        ]

    async def test_a_body_of_none_stays_and_an_empty_one_replaces(self, pool: HttpPool) -> None:
        async def nothing(body: dict[str, Any], model: Model) -> None:
            return None

        async def empty(body: dict[str, Any], model: Model) -> dict[str, Any]:
            return {}

        with ScriptedServer([OK, OK]) as server:
            await final(server, pool, on_payload=nothing)
            await final(server, pool, on_payload=empty)
            assert server.requests[0].body["model"] == "m1"
            assert server.requests[1].body == {}

    async def test_what_a_callback_raises_comes_out(self, pool: HttpPool) -> None:
        async def broken(*_: object) -> None:
            raise ZeroDivisionError

        with ScriptedServer([OK]) as server, pytest.raises(ZeroDivisionError):
            await final(server, pool, on_response=broken)


class TestHeaders:
    async def test_later_layers_win_and_none_removes(self, pool: HttpPool) -> None:
        with ScriptedServer([OK]) as server:
            model = model_at(server.url, headers={"X-Team": "blue", "Authorization": "Token t"})
            options = StreamOptions(api_key="k", headers={"x-team": None, "accept": "text/event-stream, */*"})
            await run_request(model, ask(), options, pool).result()
            headers = server.requests[0].headers
        assert "x-team" not in headers
        assert headers["authorization"] == "Token t"
        assert headers["accept"] == "text/event-stream, */*"
        assert headers["user-agent"].startswith("piolet/")

    async def test_no_lone_surrogate_is_sent(self, pool: HttpPool) -> None:
        with ScriptedServer([OK]) as server:
            context = ask("a\ud83db 😀", system_prompt="p\udc00q")
            await run_request(model_at(server.url), context, StreamOptions(), pool).result()
            body = server.requests[0].body
        assert [message["content"] for message in body["messages"]] == ["pq", "ab 😀"]


class TestCacheRetention:
    @pytest.mark.parametrize(
        ("told", "options", "sent"),
        [
            (None, {}, None),
            ("long", {}, "24h"),
            ("forever", {}, None),
            ("long", {"cache_retention": "short"}, None),
            (None, {"env": {"PI_CACHE_RETENTION": "long"}}, "24h"),
        ],
    )
    async def test_the_environment_decides_when_no_caller_does(
        self,
        pool: HttpPool,
        monkeypatch: pytest.MonkeyPatch,
        told: str | None,
        options: dict[str, Any],
        sent: str | None,
    ) -> None:
        monkeypatch.delenv("PI_CACHE_RETENTION", raising=False)
        if told:
            monkeypatch.setenv("PI_CACHE_RETENTION", told)
        with ScriptedServer([OK]) as server:
            await final(server, pool, **options)
            assert server.requests[0].body.get("prompt_cache_retention") == sent


class TestBody:
    async def test_events_without_data_are_passed_over(self, pool: HttpPool) -> None:
        steps = [{"raw": "data:\n\n"}, {"delta": {"content": "x"}}, {"raw": "data: \n\nevent: ping\ndata:\n\n"}]
        with ScriptedServer([{"stream": [*steps, {"finish": "stop"}]}]) as server:
            assert (await final(server, pool)).text == "x"

    async def test_a_compressed_stream_is_read(self, pool: HttpPool) -> None:
        body = gzip.compress(sse(chunk({"content": "packed"}), chunk({}, "stop"), "[DONE]"))
        reply = {"headers": {"content-encoding": "gzip"}, "stream": [{"raw": body}]}
        with ScriptedServer([reply]) as server:
            assert (await final(server, pool)).text == "packed"

    async def test_a_damaged_compressed_stream_is_an_error(self, pool: HttpPool) -> None:
        reply = {"headers": {"content-encoding": "gzip"}, "stream": [{"raw": b"no gzip at all"}]}
        with ScriptedServer([reply]) as server:
            assert (await final(server, pool)).stop_reason == "error"

    async def test_the_partial_message_is_in_step_with_the_events(self, pool: HttpPool) -> None:
        steps = [{"delta": {"content": piece}} for piece in "abcdef"]
        with ScriptedServer([{"stream": [*steps, {"finish": "stop"}]}]) as server:
            stream = run_request(model_at(server.url), ask(), StreamOptions(), pool)
            text = ""
            async for event in stream:
                if event.type == "text_delta":
                    text += event.delta
                    assert stream.partial.text == text
                    assert stream.partial.stop_reason == "pending"
            assert stream.partial.stop_reason == "stop"

    async def test_surrogate_pairs_that_come_as_two_escapes_are_one_character(self, pool: HttpPool) -> None:
        raw = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n'
        halves = [{"raw": raw % half} for half in (b"x\\ud83d", b"\\ude00y", b"\\ud83d\\ude00", b"\\ud83d")]
        with ScriptedServer([{"stream": [*halves, {"finish": "stop"}]}]) as server:
            message = await final(server, pool)
        assert message.text == "x😀y😀\ud83d"
