"""When a failed request is tried again, and after how long.

Two policies: one request is repeated before any event came (`may_retry_status`, `request_delay_ms`); a failed answer
is repeated by the harness (`is_retryable`, `backoff_ms`). Source: providers, section 3.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from piolet.llm.errors import says

# ------------------------------------------------------------------------------------------------- a single request


def may_retry_status(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether a response of that status may be asked for again. ``x-should-retry`` decides where it stands."""
    told = headers.get("x-should-retry", "").strip().lower()
    if told in ("true", "false"):
        return told == "true"
    return status in (408, 409, 429) or status >= 500


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """Return the wait that the server asks for: ``retry-after-ms``, else ``retry-after`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1), ("retry-after", 1000)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d*)?", value):
            return round(float(value) * unit)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0, round((moment.timestamp() - time.time()) * 1000))


def request_delay_ms(tries: int, asked_ms: int | None) -> float:
    """Return the wait before the next try: as asked, else 0.5 s doubled with each one up to 8 s, less jitter."""
    import random

    if asked_ms is not None:
        return asked_ms
    return min(500.0 * 2.0**tries, 8000.0) * (1 - random.random() * 0.25)


# --------------------------------------------------------------------------------------------------- a whole answer


def backoff_ms(attempt: int, base_delay_ms: int = 2000, max_delay_ms: int = 60_000) -> int:
    """Return the wait before attempt number `attempt` (from 1): the base, doubled each time, capped."""
    return int(min(base_delay_ms * 2 ** min(attempt - 1, 32), max_delay_ms))


def is_retryable(text: str) -> bool:
    """Return whether an error text tells of something transient. Limits of quota and billing never are.

    Overflow of the context is not checked here; a caller checks it first.
    """
    return not says(text, _LIMITS) and says(text, _TRANSIENT)


_LIMITS = (
    r"insufficient[_ ]quota",
    r"quota[_ ]exceeded",
    r"exceeded your (?:current )?quota",
    r"billing",
    r"out of budget",
    r"available balance",
    r"monthly usage limit reached",
    r"GoUsageLimitError|FreeUsageLimitError",
    r"(?:chatgpt|workspace|shared|subscription).{0,60}usage limit",
    r"usage limit.{0,60}(?:chatgpt|workspace|shared|subscription)",
    r"""\bcode["']?\s*[:=]?\s*["']?1308\b""",
)

_TRANSIENT = (
    r"overloaded",
    r"server_busy|servers? (?:is |are )?(?:currently )?busy",
    r"high demand",
    r"at capacity",
    r"rate[- _]?limit",
    r"too[ _]many[ _]requests",
    r"throttl(?:ing|ed)",
    r"(?<![\w.,])(?:429|500|502|503|504|520|524|529)(?![.,]?\w)",  # a number of its own
    r"service[ _](?:is )?(?:temporarily |currently )?unavailable|temporarily unavailable",
    r"server[ _]error|internal[ _]error",
    r"provider returned (?:an )?error",
    r"upstream (?:request failed|connect|error)|stream read error|unable to forward|buffer limit",
    r"stream (?:was |has been )?interrupted|ended (?:before|without)|disconnected before completion|cut short",
    r"network|connection[ _-]?(?:error|refused|reset|lost|closed|aborted)",
    r"fetch failed|name resolution|getaddrinfo",
    r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNRESET|ECONNABORTED|ECONNREFUSED|ETIMEDOUT|EPIPE)\b",
    r"reset before headers|socket hang up|socket connection was closed",
    r"timed?[ -]?out|\bterminated\b",
    r"HTTP/?2 (?:stream|session|connection)|NGHTTP2",
    r"websocket.{0,30}(?:closed|error|connection limit)",
    r"retry delay",
    r"you can retry|(?:try|retry) your request",
    r"resource_?exhausted",
    r"(?:subscription usage|user data) (?:is )?(?:temporarily |currently )?unavailable",
)
