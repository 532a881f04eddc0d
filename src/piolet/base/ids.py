"""Identifiers and times in the forms that session files use."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Container
from datetime import UTC, datetime


def now_ms() -> int:
    """Return the wall clock as Unix milliseconds."""
    return time.time_ns() // 1_000_000


def iso_time(ms: int | None = None) -> str:
    """Return `ms` (default: now) as ISO 8601 in UTC with milliseconds and ``Z``."""
    seconds, rest = divmod(now_ms() if ms is None else ms, 1000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_time(text: object) -> int | None:
    """Return an ISO 8601 time as Unix milliseconds, None if `text` is none. A time without zone is local."""
    if not isinstance(text, str):
        return None
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def uuid7() -> str:
    """Return a UUID version 7 (RFC 9562): lower case, ordered by time."""
    value = (now_ms() & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def entry_id(taken: Container[str]) -> str:
    """Return 8 lower-case hex digits that are not in `taken`; a full UUID after 100 collisions."""
    for _ in range(100):
        candidate = os.urandom(4).hex()
        if candidate not in taken:
            return candidate
    return str(uuid.uuid4())
