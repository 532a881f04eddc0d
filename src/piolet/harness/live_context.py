"""``LiveContext``: the messages of the agent as the session gives them at its leaf, and how many tokens they are.

It looks at the session only after something changed the past: a compaction, a context edit, a move in the tree.
Between two such changes the agent's list grows along with the session, and nothing costs more in a longer session.
"""

from __future__ import annotations

from collections.abc import Sequence

from piolet.agent.agent import Agent
from piolet.harness.compaction.estimate import (
    ContextEstimate,
    Projection,
    estimate_context,
    estimate_projected,
    usable_usage,
)
from piolet.harness.messages import SystemMessage
from piolet.harness.session.entries import ContextEditEntry
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
        self._kept = 0  # so many messages are older than the last compaction, or its summary
        self._settled = 0  # so many are older than the last compaction or context edit
        self._edited = False
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
        self._agent.replace_messages(_given(context.messages))
        self._kept = len(_given(context.messages[: context.kept]))
        self._settled = len(_given(context.messages[: context.settled]))
        self._edited = any(isinstance(entry, ContextEditEntry) for entry in context.entries)

    # ---- how full it is (the compaction specification, sections 1 and 2)

    def estimate(self) -> ContextEstimate:
        """Estimate what the next request sends."""
        context = Projection(self._agent.messages, self._settled)
        tools = [tool.spec() for tool in self._agent.tools]
        return estimate_projected(context, self._agent.system_prompt or "", tools)

    def tokens_at_last_answer(self) -> int | None:
        """Return the tokens of the context that the last answer ended; None if nothing was told since a compaction."""
        messages = self._agent.messages
        last = next((i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], AssistantMessage)), None)
        if last is None or last < self._kept:
            return None
        if self._edited:
            return self.estimate().tokens
        if (usage := usable_usage(messages[last])) is not None:
            return usage_tokens(usage)
        estimate = estimate_context(messages)
        return None if self._is_old(estimate.last_usage_index) else estimate.tokens

    def usage(self) -> ContextUsage:
        """Return how full the window is; unknown after a compaction until a provider has told."""
        estimate = estimate_context(self._agent.messages)
        anchor = estimate.last_usage_index
        unknown = self._is_old(anchor) or (anchor is None and self._kept > 0)
        return ContextUsage(None if unknown else estimate.tokens, self._agent.model.context_window)

    def _is_old(self, anchor: int | None) -> bool:
        """Whether the answer at that place told of the context before the last compaction."""
        return anchor is not None and anchor < self._kept


def _given(messages: Sequence[object]) -> list[BaseMessage]:
    """Return what a model gets of `messages`: prompts in files of pi, and what we do not know, are left out."""
    return [m for m in messages if isinstance(m, BaseMessage) and not isinstance(m, SystemMessage)]
