"""Tools of MCP servers, through the official SDK (pip install "mcp>=2"); a server is started when it is first needed.

    piolet -e examples/extensions/mcp_client

Servers stand in mcp.json of the agent folder, or of a trusted project's .pi:

    {"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
        "docs":  {"url": "https://example.com/mcp", "headers": {"authorization": "Bearer …"}, "direct": true}}}

The model gets one tool, `mcp`, whatever the servers offer: it lists the tools of a server and calls them. The tools of
a server that is `direct` become tools of their own once it is connected, which costs context for each of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from piolet.ext import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    SessionStart,
    ToolContext,
    ToolResult,
    get_agent_dir,
    text,
)

from .server import Server


def extension(pi: ExtensionAPI) -> None:
    servers: dict[str, Server] = {}

    def server(name: str | None) -> Server:
        if name not in servers:
            raise ValueError(f"There is no server {name}; there are: {', '.join(servers) or 'none'}")
        return servers[name]

    @pi.on("session_start")
    def start(event: SessionStart, ctx: ExtensionContext) -> None:
        files = [Path(get_agent_dir(), "mcp.json")]
        if ctx.is_project_trusted():
            files.append(Path(ctx.session_manager.get_cwd(), ".pi", "mcp.json"))
        for file in files:
            for name, config in read_servers(file).items():
                servers[name] = Server(name, config, ctx.session_manager.get_cwd(), pi)
        if servers:
            register()

    def register() -> None:
        listing = ", ".join(servers)

        @pi.tool(label="MCP", description=f"List and call the tools of MCP servers: {listing}.")
        async def mcp(
            action: Annotated[Literal["tools", "call"], "list the tools of a server, or call one"],
            server_name: Annotated[str, "the server"],
            ctx: ToolContext,
            tool: Annotated[str | None, "the tool to call"] = None,
            arguments: Annotated[dict[str, Any] | None, "its arguments"] = None,
        ) -> ToolResult:
            chosen = server(server_name)
            if action == "call":
                if not tool:
                    raise ValueError("call needs the name of a tool")
                return await chosen.call(tool, arguments or {}, ctx.signal)
            tools = await chosen.tools(ctx.signal)
            lines = [f"{one.name}: {one.description or ''}\n  {json.dumps(one.input_schema)}" for one in tools]
            return ToolResult([text("\n".join(lines) or "This server has no tools.")])

    @pi.command("mcp")
    def show(args: str, ctx: CommandContext) -> None:
        """Show the MCP servers and whether they are connected."""
        lines = [f"{one.name}: {one.state}" for one in servers.values()]
        ctx.ui.notify("\n".join(lines) or "There are no MCP servers.")


def read_servers(file: Path) -> dict[str, dict[str, Any]]:
    """Return the servers that a file configures, by name."""
    if not file.exists():
        return {}
    try:
        configured: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")).get("mcpServers", {})
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    return {name: config for name, config in configured.items() if not config.get("disabled")}
