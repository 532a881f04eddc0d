"""The built-in tools by name."""

from __future__ import annotations

from typing import Final

from piolet.agent.tools import AgentTool
from piolet.harness.environments.base import Environment
from piolet.harness.tools.bash import create_bash_tool
from piolet.harness.tools.edit import create_edit_tool
from piolet.harness.tools.find import create_find_tool
from piolet.harness.tools.grep import create_grep_tool
from piolet.harness.tools.ls import create_ls_tool
from piolet.harness.tools.mutation_queue import FileMutationQueue
from piolet.harness.tools.options import DEFAULT_OPTIONS, ToolOptions
from piolet.harness.tools.read import create_read_tool
from piolet.harness.tools.write import create_write_tool

#: On unless somebody says otherwise, in the order in which they are offered.
DEFAULT_TOOLS: Final = ("read", "bash", "edit", "write")


def built_in_tools(
    environment: Environment, options: ToolOptions = DEFAULT_OPTIONS, queue: FileMutationQueue | None = None
) -> dict[str, AgentTool]:
    """Return all built-in tools over `environment`, in order. `queue`: shared with other tools that change files."""
    turns = queue or FileMutationQueue.of(environment)
    tools = (
        create_read_tool(environment, options),
        create_bash_tool(environment, options),
        create_edit_tool(environment, turns),
        create_write_tool(environment, turns),
        create_grep_tool(environment),
        create_find_tool(environment),
        create_ls_tool(environment),
    )
    return {tool.name: tool for tool in tools}
