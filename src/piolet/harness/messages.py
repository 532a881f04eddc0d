"""The wider union of messages that a session holds, and their conversion to the three that models know.

Formats: the session specification, section 5. The wording of the intros is this project's own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from piolet.llm.messages import (
    AssistantMessage,
    BaseMessage,
    Message,
    TextContent,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)

COMPACTION_INTRO = "Earlier parts of this conversation were compacted; this summary stands in their place:"
BRANCH_INTRO = "This conversation came back from another branch; this summary tells what happened there:"


class CustomMessage(BaseMessage, frozen=True, tag="custom"):
    """A message of an extension or embedder; the model sees it as a user message. `display`: shown on screens."""

    role: ClassVar[Literal["custom"]] = "custom"
    custom_type: str
    content: str | Sequence[UserBlock]
    display: bool
    timestamp: int
    details: Any = None


class BashExecutionMessage(BaseMessage, frozen=True, tag="bashExecution"):
    """A command that the user ran. `exit_code` is None when it was killed."""

    role: ClassVar[Literal["bashExecution"]] = "bashExecution"
    command: str
    output: str
    cancelled: bool
    truncated: bool
    timestamp: int
    exit_code: int | None = None
    full_output_path: str | None = None
    exclude_from_context: bool | None = None


class BranchSummaryMessage(BaseMessage, frozen=True, tag="branchSummary"):
    """Made from a ``branch_summary`` entry when the context is built; never stored as a message."""

    role: ClassVar[Literal["branchSummary"]] = "branchSummary"
    summary: str
    from_id: str
    timestamp: int


class CompactionSummaryMessage(BaseMessage, frozen=True, tag="compactionSummary"):
    """Made from a ``compaction`` entry when the context is built; never stored as a message."""

    role: ClassVar[Literal["compactionSummary"]] = "compactionSummary"
    summary: str
    tokens_before: int
    timestamp: int


class SystemMessage(BaseMessage, frozen=True, tag="system"):
    """Read from files of pi 1.6 and kept; never written or sent."""

    role: ClassVar[Literal["system"]] = "system"
    content: str | Sequence[UserBlock]
    timestamp: int
    sections: dict[str, str | None] | None = None
    tools_added: Sequence[dict[str, Any]] | None = None
    tools_removed: Sequence[dict[str, Any]] | None = None


class OpaqueMessage:
    """A message of a role that we do not know: kept as it was read, left out of requests."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    @property
    def role(self) -> str:
        return str(self.raw.get("role", ""))

    @property
    def timestamp(self) -> int:
        value = self.raw.get("timestamp")
        return int(value) if isinstance(value, int | float) else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueMessage) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]


KnownMessage: TypeAlias = (
    UserMessage
    | AssistantMessage
    | ToolResultMessage
    | CustomMessage
    | BashExecutionMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
    | SystemMessage
)
AgentMessage: TypeAlias = KnownMessage | OpaqueMessage


def convert_to_llm(messages: Iterable[BaseMessage | OpaqueMessage]) -> list[Message]:
    """Return what the model gets for `messages`. Pure; messages that have no form for a model are left out."""
    converted = (_to_llm(message) for message in messages)
    return [message for message in converted if message is not None]


def _to_llm(message: BaseMessage | OpaqueMessage) -> Message | None:
    match message:
        case UserMessage() | AssistantMessage() | ToolResultMessage():
            return message
        case CustomMessage(content=content, timestamp=timestamp):
            blocks = [TextContent(content)] if isinstance(content, str) else content
            return UserMessage(blocks, timestamp)
        case BranchSummaryMessage(summary=summary, timestamp=timestamp):
            return _user(f"{BRANCH_INTRO}\n\n<summary>\n{summary}</summary>", timestamp)
        case CompactionSummaryMessage(summary=summary, timestamp=timestamp):
            return _user(f"{COMPACTION_INTRO}\n\n<summary>\n{summary}\n</summary>", timestamp)
        case BashExecutionMessage():
            return None if message.exclude_from_context else _user(bash_text(message), message.timestamp)
        case _:
            return None


def bash_text(message: BashExecutionMessage) -> str:
    """Return what the model is told of a command that the user ran."""
    text = f"Ran `{message.command}`\n"
    text += f"```\n{message.output}\n```" if message.output else "(no output)"
    if message.cancelled:
        text += "\n\n(command cancelled)"
    elif message.exit_code:
        text += f"\n\nCommand exited with code {message.exit_code}"
    if message.truncated and message.full_output_path:
        text += f"\n\n[Output truncated. Full output: {message.full_output_path}]"
    return text


def _user(text: str, timestamp: int) -> UserMessage:
    return UserMessage([TextContent(text)], timestamp)
