"""The prompts that the editor goes back to: those of the session that is open."""

from __future__ import annotations

from collections.abc import Iterable

from piolet.harness.messages import BashExecutionMessage
from piolet.harness.prompt.skills import as_typed
from piolet.llm.messages import BaseMessage, UserMessage, text_of
from piolet.tui.history import PromptHistory


def prompts_of(messages: Iterable[BaseMessage]) -> PromptHistory:
    """Return what the user has sent, as it was typed as far as that can be told."""
    history = PromptHistory()
    for message in messages:
        match message:
            case UserMessage(content=content):
                history.add(as_typed(text_of(content)))
            case BashExecutionMessage(command=command, exclude_from_context=excluded):
                history.add(f"{'!!' if excluded else '!'}{command}")
            case _:
                pass
    return history
