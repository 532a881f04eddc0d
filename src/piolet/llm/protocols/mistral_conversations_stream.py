"""The wire protocol of Mistral: the response, chunk by chunk. Source: providers, section 10."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from piolet.llm.builder import OpenText, OpenThinking, as_count, as_object, as_text
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols.openai_completions_stream import CompletionsBuilder

ID_LENGTH = 9


class ConversationsBuilder(CompletionsBuilder):
    """Folds chunks. Content is text or a list of chunks of text and thinking; each change of kind begins a block."""

    def __init__(self, model: Model, context: Context, options: StreamOptions) -> None:
        super().__init__(model, context, options)
        self._current: OpenText | OpenThinking | None = None

    def _read_delta(self, delta: Mapping[str, Any]) -> None:
        content = delta.get("content")
        parts: list[dict[str, Any]] = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            match part.get("type"):
                case "text":
                    self._add(part.get("text"), thought=False)
                case "thinking":
                    for thought in part.get("thinking") or ():
                        self._add(thought.get("text"), thought=True)
                case _:
                    pass
        for call in delta.get("tool_calls") or ():
            self._read_call({**call, "id": None} if call.get("id") == "null" else call)

    def _add(self, text: Any, *, thought: bool) -> None:
        if not (text := as_text(text)):
            return
        if self._current is None or isinstance(self._current, OpenThinking) != thought:
            if self._current is not None:
                self.close(self._current)
            self._current = self.open_thinking() if thought else self.open_text()
        self.add(self._current, text)

    def _new_id(self) -> str:
        return uuid.uuid4().hex[:ID_LENGTH]

    def _read_finish(self, reason: str) -> None:
        super()._read_finish(reason)
        if reason == "model_length":
            self.stop_reason = "length"

    def _read_usage(self, told: Mapping[str, Any]) -> None:
        details = as_object(told.get("prompt_tokens_details"))
        cached = details.get("cached_tokens")
        cached = told.get("num_cached_tokens") if cached is None else cached
        super()._read_usage({**told, "prompt_tokens_details": {**details, "cached_tokens": as_count(cached)}})
