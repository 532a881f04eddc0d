"""HTTP clients are shared, go through the proxies of the environment, and trust what they are told to trust."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import piolet
from piolet.llm.errors import RequestError
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import StreamOptions
from piolet.llm.pool import HttpPool, environment_proxy, tls_context
from piolet.llm.retry import is_retryable
from piolet.llm.transport import run_request
from tests.llm.wire import ask, chunk, model_at, sse
from tests.support.replies import openai
from tests.support.server import ScriptedServer

TLS = Path(__file__).parents[1] / "data" / "tls"
BODY = sse(chunk({"content": "fine"}), chunk({}, "stop"), "[DONE]")


async def final(url: str, pool: HttpPool, **options: object) -> AssistantMessage:
    return await run_request(model_at(url), ask(), StreamOptions(**options), pool).result()  # type: ignore[arg-type]


class Keeper:
    """A server that keeps connections open, and counts them."""

    def __init__(self) -> None:
        self.connections = 0
        self.url = ""
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
                writer.write(b"content-length: %d\r\n\r\n%s" % (len(BODY), BODY))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def drop(self) -> None:
        """Close all connections."""
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def keeper(context: ssl.SSLContext | None = None) -> AsyncIterator[Keeper]:
    kept = Keeper()
    server = await asyncio.start_server(kept.serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    kept.url = f"https://localhost:{port}" if context else f"http://127.0.0.1:{port}"
    async with server:
        try:
            yield kept
        finally:
            kept.drop()


class TestSharing:
    async def test_requests_in_a_row_share_a_connection(self, pool: HttpPool) -> None:
        async with keeper() as server:
            for _ in range(3):
                assert (await final(server.url, pool)).text == "fine"
            assert server.connections == 1

    async def test_many_requests_at_once_each_have_a_connection(self, pool: HttpPool) -> None:
        async with keeper() as server:
            answers = await asyncio.gather(*(final(server.url, pool) for _ in range(150)))
            assert {answer.text for answer in answers} == {"fine"}

    def test_each_event_loop_has_its_own_clients(self) -> None:
        pool = HttpPool()

        async def once() -> str:
            async with keeper() as server:
                answer = await final(server.url, pool)
                await pool.aclose()
                return answer.text

        assert [asyncio.run(once()) for _ in range(2)] == ["fine", "fine"]

    async def test_a_closed_pool_opens_again(self, pool: HttpPool) -> None:
        async with keeper() as server:
            await final(server.url, pool)
            await pool.aclose()
            assert (await final(server.url, pool)).text == "fine"

    def test_nothing_heavy_is_imported_before_the_first_request(self) -> None:
        code = "import sys, piolet.llm.transport; print({'httpx', 'anyio', 'jiter', 'truststore'} & sys.modules.keys())"
        env = {**os.environ, "PYTHONPATH": str(Path(piolet.__file__).parents[1])}
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        assert found.stdout.strip() == "set()"

    def test_the_first_requests_may_come_all_at_once(self) -> None:
        code = (
            "import threading, time, sys, piolet.llm.pool as pool\n"
            "class Slow:\n"
            "    def find_spec(self, name, *rest): time.sleep(0.3 if name == 'httpx' else 0)\n"
            "sys.meta_path.insert(0, Slow())\n"
            "barrier = threading.Barrier(9)\n"
            "def first(): barrier.wait(); pool.context_for('http', None)\n"
            "threads = [threading.Thread(target=first) for _ in range(9)]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"
        )
        env = {**os.environ, "PYTHONPATH": str(Path(piolet.__file__).parents[1])}
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, env=env).stderr == b""


class TestProxies:
    @pytest.mark.parametrize(
        ("url", "env", "proxy"),
        [
            ("https://a.example/v1", {}, None),
            ("https://a.example/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
            ("https://a.example/v1", {"https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1"}, "http://p:1"),
            ("http://a.example/v1", {"HTTPS_PROXY": "http://p:1"}, None),
            ("http://a.example/v1", {"HTTP_PROXY": "p:1"}, "http://p:1"),
            ("http://a.example/v1", {"ALL_PROXY": "socks5://p:1"}, "socks5://p:1"),
            ("https://a.example/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "b.example,a.example"}, None),
            ("https://x.a.example", {"ALL_PROXY": "http://p:1", "NO_PROXY": ".a.example"}, None),
            ("https://x.a.example", {"ALL_PROXY": "http://p:1", "NO_PROXY": "*.a.example"}, None),
            ("https://xa.example", {"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example"}, "http://p:1"),
            ("https://a.example", {"ALL_PROXY": "http://p:1", "no_proxy": "*"}, None),
            ("https://a.example:8443", {"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example:443"}, "http://p:1"),
            ("https://a.example", {"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example:443"}, None),
            ("http://127.0.0.1:8080", {"ALL_PROXY": "http://p:1", "NO_PROXY": "localhost, 127.0.0.1"}, None),
            ("http://[::1]:8080", {"ALL_PROXY": "http://p:1", "NO_PROXY": "[::1]"}, None),
            ("http://[::1]:8080", {"ALL_PROXY": "http://p:1", "NO_PROXY": "::1"}, None),
            ("https://a.example", {"HTTPS_PROXY": ""}, None),
        ],
    )
    def test_variables_of_the_environment(self, url: str, env: dict[str, str], proxy: str | None) -> None:
        assert environment_proxy(url, env) == proxy

    async def test_a_request_goes_through_the_proxy_of_its_provider(self, pool: HttpPool) -> None:
        with ScriptedServer([openai("proxied")]) as proxy:
            message = await final("http://model.invalid/v1", pool, env={"HTTP_PROXY": proxy.url})
            assert message.text == "proxied"
            assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"

    async def test_the_proxy_of_the_settings_goes_before_the_environment(self) -> None:
        with ScriptedServer([openai("proxied")]) as proxy:
            pool = HttpPool(proxy=proxy.url)
            message = await final("http://model.invalid/v1", pool, env={"HTTP_PROXY": "http://127.0.0.1:9"})
            await pool.aclose()
        assert message.text == "proxied"

    async def test_a_proxy_that_refuses_is_named_without_its_password(self, pool: HttpPool) -> None:
        with ScriptedServer() as proxy:
            address = proxy.url.replace("//", "//user:pass-word-1@")
            message = await final("https://model.invalid/v1", pool, env={"HTTPS_PROXY": address})
        assert message.stop_reason == "error"
        assert "roxy" in (message.error_message or "")
        assert "pass-word-1" not in (message.error_message or "")

    async def test_an_address_that_is_no_proxy_is_an_error_in_words(self, pool: HttpPool) -> None:
        message = await final("http://model.invalid", pool, env={"HTTP_PROXY": "gopher://user:pass-word-1@p"})
        assert "proxy" in (message.error_message or "")
        assert "pass-word-1" not in (message.error_message or "")


class TestTrust:
    @pytest.fixture(autouse=True)
    def _fresh_context(self) -> object:
        tls_context.cache_clear()
        yield
        tls_context.cache_clear()

    @pytest.mark.parametrize("name", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
    async def test_an_authority_that_a_variable_names(
        self, pool: HttpPool, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(name, str(TLS / "authority.pem"))
        async with keeper(server_context()) as server:
            assert (await final(server.url, pool)).text == "fine"
            assert tls_context.cache_info().misses == 1

    async def test_a_certificate_that_nobody_vouches_for_is_refused_for_good(self, pool: HttpPool) -> None:
        async with keeper(server_context()) as server:
            error = (await final(server.url, pool)).error_message or ""
        assert "certificate of localhost" in error
        assert "NODE_EXTRA_CA_CERTS" in error
        assert not is_retryable(error)

    def test_a_file_that_is_none_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/ca.pem")
        with pytest.raises(RequestError, match="SSL_CERT_FILE"):
            tls_context()


def server_context() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TLS / "server.pem")
    return context
