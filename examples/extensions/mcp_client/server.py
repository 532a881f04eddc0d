"""One MCP server: connected when it is first needed, in a task of its own that ends with the extension."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piolet.ext import (
    AbortSignal,
    ExtensionAPI,
    OnUpdate,
    ToolContext,
    ToolDefinition,
    ToolResult,
    get_agent_dir,
    image,
    text,
)

if TYPE_CHECKING:
    from mcp import Client, Tool

#: Seconds that a server may take to start.
PATIENCE = 30


class Server:
    """`config`: command, args, env; or url, headers. `direct`: its tools become tools of their own."""

    def __init__(self, name: str, config: Mapping[str, Any], cwd: str, pi: ExtensionAPI) -> None:
        self.name = name
        self.state = "not connected"
        self._config = config
        self._cwd = cwd
        self._pi = pi
        self._connected: asyncio.Future[Client] | None = None
        self._serving: asyncio.Task[None] | None = None

    async def tools(self, signal: AbortSignal) -> Sequence[Tool]:
        """Return the tools of the server."""
        found, cursor = list[Any](), None
        async with self._client() as client:
            while True:
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                if not (cursor := page.next_cursor):
                    return found

    async def call(self, tool: str, arguments: Mapping[str, Any], signal: AbortSignal) -> ToolResult:
        """Call a tool of the server; an abort gives the call up."""
        async with self._client() as client:
            calling = asyncio.ensure_future(client.call_tool(tool, dict(arguments)))

            def give_up() -> None:
                calling.cancel()

            withdraw = signal.on_abort(give_up)
            try:
                done = await calling
            finally:
                withdraw()
        blocks = [
            image(block.data, block.mime_type) if block.type == "image" else text(getattr(block, "text", str(block)))
            for block in done.content
        ]
        result = ToolResult(blocks or [text("(nothing)")], is_error=bool(done.is_error))
        result.structured_content = done.structured_content
        return result

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        """Connect if need be. A connection that turns out to be closed is given up: the next call makes another."""
        if self._connected is None or (self._connected.done() and self._connected.exception()):
            self._connected = asyncio.get_running_loop().create_future()
            self._serving = self._pi.spawn(self._serve(self._connected), name=f"mcp-{self.name}")
        connected, serving = self._connected, self._serving
        async with asyncio.timeout(PATIENCE):
            client = await asyncio.shield(connected)
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        try:
            yield client
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and self._connected is connected:
                self._connected = None
                if serving is not None:
                    serving.cancel()
            raise

    async def _serve(self, connected: asyncio.Future[Client]) -> None:
        """Hold the connection; it has to be closed by the task that opened it."""
        self.state = "connecting"
        try:
            async with self._open() as client:
                if self._config.get("direct"):
                    await self._register(client)
                self.state = "connected"
                connected.set_result(client)
                await asyncio.Event().wait()
        except Exception as error:
            if connected.done():
                raise
            connected.set_exception(RuntimeError(f"The MCP server {self.name} cannot be used: {error}"))
            connected.exception()  # it may be that nobody waits any more
        finally:
            self.state = "not connected"

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Client]:
        try:
            from mcp import Client, StdioServerParameters, stdio_client
        except ImportError:
            raise RuntimeError('the SDK is missing: pip install "mcp>=2"') from None
        config = self._config
        if "url" not in config:
            command = StdioServerParameters(
                command=config["command"], args=config.get("args", []), env=config.get("env"), cwd=self._cwd
            )
            log = Path(get_agent_dir(), f"mcp-{self.name}.log")  # not on the screen
            with await asyncio.to_thread(log.open, "w", encoding="utf-8") as errors:
                async with Client(stdio_client(command, errlog=errors)) as client:
                    yield client
            return
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(PATIENCE, read=300)
        async with (
            httpx2.AsyncClient(headers=config.get("headers"), timeout=timeout) as http,
            Client(streamable_http_client(config["url"], http_client=http)) as client,
        ):
            yield client

    async def _register(self, client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            self._pi.register_tool(self._direct(tool))

    def _direct(self, tool: Tool) -> ToolDefinition:
        async def execute(
            call_id: str, args: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, ctx: ToolContext
        ) -> ToolResult:
            return await self.call(tool.name, args, signal)

        return ToolDefinition(
            name=f"{self.name}_{tool.name}",
            label=tool.title or tool.name,
            description=tool.description or tool.name,
            parameters=tool.input_schema,
            execute=execute,
        )
