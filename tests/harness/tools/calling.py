"""Calling a built-in tool as the loop does, without a loop."""

from __future__ import annotations

from typing import Any

from piolet.agent.arguments import InvalidArguments, prepare
from piolet.agent.tools import AgentTool, ToolResult
from piolet.base.abort import AbortController, AbortSignal
from piolet.harness.environments.base import Environment
from piolet.harness.tools import built_in_tools
from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.options import DEFAULT_OPTIONS, ToolOptions
from piolet.llm.messages import ImageContent, TextContent, ToolCall


class Tools:
    """The built-in tools of one environment. What a tool raises for the model becomes an error result."""

    def __init__(self, environment: Environment, options: ToolOptions = DEFAULT_OPTIONS) -> None:
        self.environment = environment
        self.by_name: dict[str, AgentTool] = built_in_tools(environment, options)
        self.updates: list[ToolResult] = []

    async def call(self, name: str, signal: AbortSignal | None = None, **arguments: Any) -> ToolResult:
        tool = self.by_name[name]
        self.updates = []
        try:
            prepared = prepare(tool, ToolCall("call", name, arguments))
            return await tool.execute("call", prepared, signal or AbortController().signal, self.updates.append)
        except (ToolError, InvalidArguments) as error:
            return ToolResult.of_text(str(error), details={}, is_error=True)

    async def text(self, name: str, **arguments: Any) -> str:
        """Return the text of a call that succeeds."""
        result = await self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def failure(self, name: str, **arguments: Any) -> str:
        """Return the text of a call that fails."""
        result = await self.call(name, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)


def text_of(result: ToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def images_of(result: ToolResult) -> list[ImageContent]:
    return [block for block in result.content if isinstance(block, ImageContent)]
