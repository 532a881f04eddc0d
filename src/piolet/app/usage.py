"""What sessions have cost: tokens and money by day, project and model, over many files.

Forks and clones copy entries with their ids and times; such an entry counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from piolet.base.ids import iso_time, parse_time
from piolet.base.json import loads
from piolet.harness.session.reading import read_header
from piolet.harness.session.skim import AssistantSkim, Skim, ToolResultSkim, skim
from piolet.harness.session.totals import Totals
from piolet.llm.messages import Usage


class UsageRow(Struct):
    """The sum of one day, project and model. `day`: ISO date in UTC; `model`: ``provider/id``. `requests`: answers."""

    day: str
    project: str
    model: str
    requests: int
    totals: Totals


def read_usage(paths: Iterable[str]) -> list[UsageRow]:
    """Return the usage in session files, by day, project and model, in this order. Unreadable files are passed over."""
    rows: dict[tuple[str, str, str], UsageRow] = {}
    counted: set[tuple[str, str]] = set()
    for path in paths:
        try:
            with open(path, "rb") as file:
                for day, project, model, entry, usage in _usages(file):
                    if entry in counted:
                        continue
                    counted.add(entry)
                    row = rows.setdefault((day, project, model), UsageRow(day, project, model, 0, Totals()))
                    row.requests += 1
                    row.totals.add(usage)
        except OSError:
            continue
    return [rows[key] for key in sorted(rows)]


def summed(rows: Sequence[UsageRow], by: str) -> list[UsageRow]:
    """Return the rows added up `by` "day", "project" or "model"; days in order, else the dearest first."""
    sums: dict[str, UsageRow] = {}
    for row in rows:
        value = getattr(row, by)
        names = {"day": "", "project": "", "model": "", by: value}
        total = sums.setdefault(value, UsageRow(**names, requests=0, totals=Totals()))
        total.requests += row.requests
        total.totals.merge(row.totals)
    if by == "day":
        return [sums[day] for day in sorted(sums)]
    return sorted(sums.values(), key=lambda row: -row.totals.cost)


def _usages(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str, tuple[str, str], Usage]]:
    """Yield day, project, model, the entry's identity and usage of every line that has one."""
    project, model = "", ""
    for line in lines:
        try:
            facts = skim(line)
        except (ValueError, TypeError):
            continue
        if facts.type == "session":
            project = project or _cwd(line)
            continue
        model = _model_of(facts) or model
        usage = facts.usage
        if isinstance(facts.message, AssistantSkim | ToolResultSkim):
            usage = facts.message.usage
        if usage is not None and (usage.total_tokens or usage.output or usage.input or usage.cost.total):
            time = facts.timestamp or ""
            ms = parse_time(time)
            yield ("" if ms is None else iso_time(ms)[:10]), project, model, (facts.id, time), usage


def _model_of(facts: Skim) -> str:
    if isinstance(facts.message, AssistantSkim) and facts.message.model:
        return f"{facts.message.provider}/{facts.message.model}"
    return f"{facts.provider}/{facts.model_id}" if facts.model_id else ""


def _cwd(line: bytes) -> str:
    header = read_header(loads(line))
    return (header.cwd or "") if header else ""
