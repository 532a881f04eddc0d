"""What extensions build tools from: the built-in ones over any environment, and what those share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from piolet.app.extensions.definitions import ToolDefinition
from piolet.app.extensions.tools import definition_of
from piolet.harness.environments.base import Environment
from piolet.harness.messages import AgentMessage, convert_to_llm
from piolet.harness.tools.mutation_queue import FileMutationQueue
from piolet.harness.tools.options import ShellSpawn, ToolOptions

T = TypeVar("T")


def create_read_tool(environment: Environment) -> ToolDefinition:
    """Return the tool ``read`` over `environment`."""
    from piolet.harness.tools.read import create_read_tool

    return definition_of(create_read_tool(environment))


def create_bash_tool(
    environment: Environment,
    *,
    spawn_hook: Callable[[ShellSpawn], ShellSpawn] | None = None,
    shell_path: str | None = None,
    command_prefix: str | None = None,
) -> ToolDefinition:
    """Return the tool ``bash`` over `environment`. `spawn_hook` may change a command before it runs."""
    from piolet.harness.tools.bash import create_bash_tool

    options = ToolOptions(shell_path=lambda: shell_path, command_prefix=lambda: command_prefix, spawn_hook=spawn_hook)
    return definition_of(create_bash_tool(environment, options))


def create_edit_tool(environment: Environment) -> ToolDefinition:
    """Return the tool ``edit`` over `environment`; it takes turns with whatever else changes files there."""
    from piolet.harness.tools.edit import create_edit_tool

    return definition_of(create_edit_tool(environment, FileMutationQueue.of(environment)))


def create_write_tool(environment: Environment) -> ToolDefinition:
    """Return the tool ``write`` over `environment`; it takes turns with whatever else changes files there."""
    from piolet.harness.tools.write import create_write_tool

    return definition_of(create_write_tool(environment, FileMutationQueue.of(environment)))


def create_grep_tool(environment: Environment) -> ToolDefinition:
    """Return the tool ``grep`` over `environment`."""
    from piolet.harness.tools.grep import create_grep_tool

    return definition_of(create_grep_tool(environment))


def create_find_tool(environment: Environment) -> ToolDefinition:
    """Return the tool ``find`` over `environment`."""
    from piolet.harness.tools.find import create_find_tool

    return definition_of(create_find_tool(environment))


def create_ls_tool(environment: Environment) -> ToolDefinition:
    """Return the tool ``ls`` over `environment`."""
    from piolet.harness.tools.ls import create_ls_tool

    return definition_of(create_ls_tool(environment))


async def with_file_mutation_queue(environment: Environment, path: str, change: Callable[[], Awaitable[T]]) -> T:
    """Run `change` while nobody else changes the file at `path`, and return what it gives."""
    async with FileMutationQueue.of(environment).turn(lambda: environment.resolve(path)):
        return await change()


def conversation_text(messages: Sequence[AgentMessage]) -> str:
    """Return messages as one marked text, as material for a model that summarizes them."""
    from piolet.harness.compaction.serialize import serialize_conversation

    return serialize_conversation(convert_to_llm(messages))


def get_agent_dir() -> str:
    """Return the folder of the user's settings, credentials and sessions."""
    import os

    from piolet.app.options import agent_dir

    return str(agent_dir(os.environ))
