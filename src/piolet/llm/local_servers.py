"""Model servers that run on this machine: who answers at the usual ports, and with which models.

Asked only when nothing else is configured and not offline. On a shared machine a port may be another user's, so the
caller names what was found, or asks, before it uses one. Source: command line, section 5; providers, section 11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from piolet.base.json import loads
from piolet.llm.catalog.listing import from_openai
from piolet.llm.errors import LlmError
from piolet.llm.provider_config import ModelPatch, ProviderConfig

PORTS: Mapping[str, int] = {"ollama": 11434, "lm-studio": 1234, "llama.cpp": 8080, "vllm": 8000}
TIMEOUT = 0.3
MAX_ANSWER = 1024 * 1024


class LocalServer(Struct, frozen=True):
    """A server that answered, and the models that it lists."""

    name: str
    base_url: str
    models: Sequence[ModelPatch]

    @property
    def refs(self) -> list[str]:
        """What to give ``--model``, for each of the models."""
        return [f"{self.name}/{model.id}" for model in self.models]

    def config(self) -> ProviderConfig:
        """What to register as the provider `name`, to use the server."""
        return ProviderConfig(
            base_url=self.base_url,
            api="openai-completions",
            api_key="local",
            compat={"supportsStore": False, "maxTokensField": "max_tokens"},
            models=list(self.models),
        )


async def find_local_servers(ports: Mapping[str, int] = PORTS) -> list[LocalServer]:
    """Return the servers on loopback that list models, asked all at once, within `TIMEOUT` seconds in all."""
    found = await asyncio.gather(*(_ask(name, port) for name, port in ports.items()))
    return [server for server in found if server is not None]


async def _ask(name: str, port: int) -> LocalServer | None:
    try:
        async with asyncio.timeout(TIMEOUT):
            models = from_openai(loads(await _get(port, "/v1/models")))
    except (OSError, TimeoutError, ValueError, LlmError):
        return None
    return LocalServer(name, f"http://127.0.0.1:{port}/v1", models) if models else None


async def _get(port: int, path: str) -> bytes:
    """Return the body of a successful answer. By hand: importing an HTTP library takes longer than we may wait."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n".encode())
        await writer.drain()
        answer = b""
        while piece := await reader.read(64 * 1024):
            answer += piece
            if len(answer) > MAX_ANSWER:
                raise ValueError("too long")
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200" not in head.partition(b"\r\n")[0]:
        raise ValueError("no success")
    return body
