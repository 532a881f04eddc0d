"""The results of the tools that list things: the text within its byte limit, and notices of what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from piolet.agent.tools import ToolResult
from piolet.harness.tools.paths import well_formed
from piolet.harness.tools.truncate import MAX_BYTES, format_size, truncate_head
from piolet.llm.messages import TextContent

#: No limit on lines, in the largest number that every JSON reader holds exactly.
NO_LINE_LIMIT: Final = 2**53 - 1


def count_argument(value: float | None, default: int) -> int:
    """Return a limit: a fraction is cut, below 1 is 1."""
    if value is None or math.isnan(value):
        return default
    return max(1, int(min(value, NO_LINE_LIMIT)))


def listing(
    lines: Sequence[str], details: Mapping[str, Any], *, limit_notice: str | None = None, last_notice: str | None = None
) -> ToolResult:
    """Return the result with `lines` cut to the byte limit, and the notices in one bracket below.

    The notice of the byte limit stands between the two others; `details` gets the truncation.
    """
    cut = truncate_head(well_formed("\n".join(lines)), NO_LINE_LIMIT)
    byte_notice = f"{format_size(MAX_BYTES)} limit reached" if cut.truncated else None
    notices = [notice for notice in (limit_notice, byte_notice, last_notice) if notice is not None]
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    all_details = {**details, "truncation": cut.to_json()} if cut.truncated else dict(details)
    return ToolResult([TextContent(text)], all_details or None)
