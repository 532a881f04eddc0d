"""Which files the summarized part read and changed (the compaction specification, section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from piolet.harness.messages import AgentMessage
from piolet.llm.messages import AssistantMessage, BaseMessage, ToolResultMessage


class FileOperations(Struct):
    """Paths in the order in which they were met, each once."""

    read: dict[str, None] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    edited: dict[str, None] = field(default_factory=dict)

    def add_messages(self, messages: Iterable[BaseMessage | AgentMessage]) -> None:
        """Take in the tool calls of `messages`, also those that tools made themselves."""
        for message in messages:
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls:
                    self._add_call(call.name, call.arguments)
            elif isinstance(message, ToolResultMessage) and message.nested_calls:
                for nested in message.nested_calls.get("calls") or ():
                    if isinstance(nested, Mapping):
                        self._add_call(nested.get("name"), nested.get("arguments"))

    def add_details(self, details: Any) -> None:
        """Take in the lists of an earlier summary."""
        if not isinstance(details, Mapping):
            return
        for names, into in ((("readFiles", "filesRead"), self.read), (("modifiedFiles", "filesModified"), self.edited)):
            found: list[Any] = next((details[name] for name in names if isinstance(details.get(name), list)), [])
            into.update(dict.fromkeys(path for path in found if isinstance(path, str)))

    def _add_call(self, name: object, arguments: object) -> None:
        into = {"read": self.read, "write": self.written, "edit": self.edited}.get(str(name))
        path = arguments.get("path") if isinstance(arguments, Mapping) else None
        if into is not None and isinstance(path, str) and path:
            into[path] = None

    @property
    def modified_files(self) -> list[str]:
        return _sorted({**self.edited, **self.written})

    @property
    def read_files(self) -> list[str]:
        """What was read and not changed."""
        return _sorted(path for path in self.read if path not in self.edited and path not in self.written)

    def details(self) -> dict[str, list[str]]:
        return {"readFiles": self.read_files, "modifiedFiles": self.modified_files}

    def tags(self) -> str:
        """Return the lists as they stand behind a summary; empty if both are."""
        lists = (("read-files", self.read_files), ("modified-files", self.modified_files))
        return "".join(f"\n\n<{name}>\n{chr(10).join(paths)}\n</{name}>" for name, paths in lists if paths)


def _sorted(paths: Iterable[str]) -> list[str]:
    """Sort by UTF-16 code units, as JavaScript does."""
    return sorted(set(paths), key=lambda path: path.encode("utf-16-be", "surrogatepass"))
