"""``LiveContext``: the messages of the agent as the session gives them at its leaf, and how many tokens they are.

It looks at the session only after something changed the past: a compaction, a context edit, a move in the tree.
Between two such changes the agent's list grows along with the session, and nothing costs more in a longer session.
"""

from __future__ import annotations

from typing import TypeGuard

from piolet.agent.agent import Agent
from piolet.harness.compaction.estimate import (
    ContextEstimate,
    Projection,
    estimate_context,
    estimate_projected,
    usable_usage,
)
from piolet.harness.messages import SystemMessage
from piolet.harness.session.context import entry_ms
from piolet.harness.session.entries import CompactionEntry, ContextEditEntry
from piolet.harness.session.session import Session
from piolet.harness.stats import ContextUsage
from piolet.llm.estimate import usage_tokens
from piolet.llm.messages import AssistantMessage, BaseMessage


class LiveContext:
    """Keeps the messages of `agent` those of `session`."""

    def __init__(self, session: Session, agent: Agent) -> None:
        self._session = session
        self._agent = agent
        self._stale = False
        self._settled = 0
        self._edited = False
        self._compacted_ms: int | None = None
        self.rebuild()

    def invalidate(self) -> None:
        """Tell that an entry changed what was in the context already, or that the session lacks some of it."""
        self._stale = True

    def refresh(self) -> None:
        """Build the context again if that is needed."""
        if self._stale:
            self.rebuild()

    def rebuild(self) -> None:
        """Build the context from the session."""
        self._stale = False
        context = self._session.build_context()
        self._agent.replace_messages([message for message in context.messages if _is_given(message)])
        self._settled = sum(_is_given(message) for message in context.messages[: context.settled])
        self._edited = any(isinstance(entry, ContextEditEntry) for entry in context.entries)
        first = context.entries[0] if context.entries else None
        self._compacted_ms = entry_ms(first) if isinstance(first, CompactionEntry) else None

    # ---- how full it is (the compaction specification, sections 1 and 2)

    def estimate(self) -> ContextEstimate:
        """Estimate what the next request sends."""
        context = Projection(self._agent.messages, self._settled)
        tools = [tool.spec() for tool in self._agent.tools]
        return estimate_projected(context, self._agent.system_prompt or "", tools)

    def tokens_with(self, answer: AssistantMessage) -> int | None:
        """Return the tokens of the context that `answer` ended; None if what is known is older than the compaction."""
        if self._is_stale(answer):
            return None
        usage = usable_usage(answer)
        if self._edited:
            return self.estimate().tokens
        if usage is not None:
            return usage_tokens(usage)
        estimate, anchor = self._anchored()
        return None if anchor is not None and self._is_stale(anchor) else estimate.tokens

    def usage(self) -> ContextUsage:
        """Return how full the window is; unknown after a compaction until a provider has told."""
        estimate, anchor = self._anchored()
        unknown = self._compacted_ms is not None and (anchor is None or self._is_stale(anchor))
        return ContextUsage(None if unknown else estimate.tokens, self._agent.model.context_window)

    def _anchored(self) -> tuple[ContextEstimate, AssistantMessage | None]:
        """Return an estimate, and the answer with whose usage it begins."""
        messages = self._agent.messages
        estimate = estimate_context(messages)
        anchor = None if estimate.last_usage_index is None else messages[estimate.last_usage_index]
        return estimate, anchor if isinstance(anchor, AssistantMessage) else None

    def _is_stale(self, answer: AssistantMessage) -> bool:
        """Whether `answer` is not newer than the last compaction: its usage is that of another context."""
        return self._compacted_ms is not None and answer.timestamp <= self._compacted_ms


def _is_given(message: object) -> TypeGuard[BaseMessage]:
    """Whether a model gets `message`: prompts in files of pi and messages that we do not know are left out."""
    return isinstance(message, BaseMessage) and not isinstance(message, SystemMessage)
