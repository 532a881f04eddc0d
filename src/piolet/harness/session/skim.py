"""What is read of a line in passing: enough for the index, while msgspec checks the rest of the line and skips it."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import msgspec
from msgspec import Struct

from piolet.base.json import loads
from piolet.harness.session.storage import Text
from piolet.llm.messages import Usage
from piolet.llm.normalize import normalize_usage


class Block(Struct, gc=False):
    type: str = ""


class AssistantSkim(Struct, gc=False, tag_field="role", tag="assistant"):
    role: ClassVar[str] = "assistant"
    content: list[Block] = []
    provider: str = ""
    model: str = ""
    usage: Usage | None = None


class ToolResultSkim(Struct, gc=False, tag_field="role", tag="toolResult"):
    role: ClassVar[str] = "toolResult"
    usage: Usage | None = None


class UserSkim(Struct, gc=False, tag_field="role", tag="user"):
    role: ClassVar[str] = "user"


class BashSkim(Struct, gc=False, tag_field="role", tag="bashExecution"):
    role: ClassVar[str] = "bashExecution"


class CustomSkim(Struct, gc=False, tag_field="role", tag="custom"):
    role: ClassVar[str] = "custom"


class SystemSkim(Struct, gc=False, tag_field="role", tag="system"):
    role: ClassVar[str] = "system"


class OtherSkim(Struct, gc=False):
    role: str | None


if TYPE_CHECKING:
    MessageSkim: TypeAlias = AssistantSkim | ToolResultSkim | UserSkim | BashSkim | CustomSkim | SystemSkim | OtherSkim
else:  # what the strict decoder knows
    MessageSkim = AssistantSkim | ToolResultSkim | UserSkim | BashSkim | CustomSkim | SystemSkim


class Skim(Struct, gc=False, rename="camel"):
    """The fields that the index needs; those that are missing or of a wrong type are empty."""

    type: str = ""
    id: str = ""
    parent_id: str | None = None
    timestamp: str | None = None
    message: MessageSkim | None = None
    usage: Usage | None = None
    target_id: str | None = None
    first_kept_entry_id: str | None = None
    label: str | None = None
    name: str | None = None
    provider: str | None = None
    model_id: str | None = None
    thinking_level: str | None = None


@cache
def _decoder() -> msgspec.json.Decoder[Skim]:
    return msgspec.json.Decoder(Skim)


@cache
def _texts() -> list[tuple[str, str]]:
    fields = msgspec.structs.fields(Skim)
    return [(field.name, field.encode_name) for field in fields if field.name not in ("message", "usage")]


def skim(line: Text) -> Skim:
    """Return the facts of one line. Raises ValueError if it is not valid JSON, TypeError if it is no JSON object."""
    try:
        return _decoder().decode(line)
    except (msgspec.DecodeError, RecursionError):
        value = loads(bytes(line))
    if not isinstance(value, Mapping):
        raise TypeError(f"a bare {type(value).__name__}")
    facts = Skim(usage=normalize_usage(value.get("usage")))
    for name, key in _texts():
        if isinstance(text := value.get(key), str):
            setattr(facts, name, text)
    message = value.get("message")
    facts.message = _skim_message(message) if isinstance(message, Mapping) else None
    return facts


def _skim_message(message: Mapping[str, Any]) -> MessageSkim:
    role, usage = message.get("role"), normalize_usage(message.get("usage"))
    if role == "toolResult":
        return ToolResultSkim(usage)
    if role == "user":
        return UserSkim()
    if role != "assistant":
        return OtherSkim(role if isinstance(role, str) else None)
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    provider, model = (str(message.get(key) or "") for key in ("provider", "model"))
    return AssistantSkim([Block(str(block.get("type"))) for block in blocks], provider, model, usage)
