"""When a failed request is tried again: the policy as data, the decision as a pure function.

Source: the provider specification, section 3, "Agent-level retry".
"""

from __future__ import annotations

from msgspec import Struct

from piolet.llm.messages import AssistantMessage
from piolet.llm.retry import backoff_ms, is_retryable


class RetryPolicy(Struct, frozen=True):
    """`max_retries` tries after the first; the delay doubles from `base_delay_ms` and is cut at `max_delay_ms`."""

    enabled: bool = True
    max_retries: int = 3
    base_delay_ms: int = 2000
    max_delay_ms: int = 60_000

    def delay_ms(self, attempt: int) -> int:
        """Return the wait before the retry number `attempt` (from 1)."""
        return backoff_ms(attempt, self.base_delay_ms, self.max_delay_ms)


class Retry(Struct, frozen=True):
    """Try again: number `attempt`, after `delay_ms`."""

    attempt: int
    delay_ms: int


class GiveUp(Struct, frozen=True):
    """Try no more; `why` is told to the user."""

    why: str


def next_try(
    policy: RetryPolicy, message: AssistantMessage, attempts: int, asked_ms: int | None = None
) -> Retry | GiveUp | None:
    """Decide about a failed answer after `attempts` retries; None if a retry is out of the question.

    `asked_ms` is the wait that the server asked for: it counts when it is longer than ours, and ends the retries when
    it is above the limit of the policy.
    """
    text = message.error_message or ""
    if not policy.enabled or message.stop_reason != "error" or not is_retryable(text):
        return None
    if attempts >= policy.max_retries:
        return GiveUp(text) if attempts else None
    if asked_ms is not None and asked_ms > policy.max_delay_ms:
        return GiveUp(f"{text} (the server asks for a wait of {asked_ms / 1000:g} s, more than the limit)")
    return Retry(attempts + 1, max(policy.delay_ms(attempts + 1), asked_ms or 0))
