"""What sessions have cost as an HTML page: charts by day and model, tables by project and model. It has no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from html import escape
from string import Template

from piolet._version import __version__
from piolet.app.export.parts import read_part
from piolet.app.export.styles import policy, theme_style
from piolet.app.usage import UsageRow, summed
from piolet.tui.blocks.footer import count
from piolet.tui.text import one_line
from piolet.tui.theme_builtin import built_in_theme

MOST_DAYS = 120  # a longer time is told by months
FEWEST_BARS = 14  # there is room for so many at least
SERIES = 5  # models with a colour of their own; the others share one
OTHERS = "other models"
_HEIGHT = 160

Value = Callable[[UsageRow], float]


def usage_page(rows: Sequence[UsageRow]) -> str:
    """Return the page. `rows`: as `read_usage` gives them, at least one."""
    style = theme_style(built_in_theme("light"), built_in_theme("dark")) + read_part("usage.css")
    models = [row.model for row in summed(rows, "model")]
    series = {model: place if place < SERIES else SERIES for place, model in enumerate(models)}
    days = sorted({row.day for row in rows if row.day})
    return Template(read_part("usage.html")).substitute(
        policy=policy(style),
        generator=f"piolet {__version__}",
        style=style,
        time=_text(f"{days[0]} to {days[-1]}" if days else ""),
        cost=_money(sum(map(_cost, rows))),
        tokens=count(round(sum(map(_tokens, rows)))),
        requests=f"{sum(row.requests for row in rows):,}",
        cost_chart=_chart(rows, series, _cost, _money),
        token_chart=_chart(rows, series, _tokens, lambda tokens: count(round(tokens))),
        legend=_legend(models),
        projects=_table(summed(rows, "project"), "project"),
        models=_table(summed(rows, "model"), "model", series),
    )


def _cost(row: UsageRow) -> float:
    return row.totals.cost


def _tokens(row: UsageRow) -> float:
    return row.totals.tokens


def _money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.4f}"


def periods(days: Iterable[str]) -> list[str]:
    """Return every day from the first to the last of ISO `days`, or every month where these would be too many."""
    known = sorted(date.fromisoformat(day) for day in set(days) if day)
    if not known:
        return []
    first, last = known[0], known[-1]
    if (last - first).days < MOST_DAYS:
        return [(first + timedelta(number)).isoformat() for number in range((last - first).days + 1)]
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in months]


def _chart(rows: Sequence[UsageRow], series: Mapping[str, int], value: Value, show: Callable[[float], str]) -> str:
    """Return a bar for each day or month, in which the models stand on each other."""
    times = periods(row.day for row in rows)
    if not times:
        return ""
    sums = {time: [0.0] * (SERIES + 1) for time in times}
    for row in rows:
        if row.day:
            sums[row.day[: len(times[0])]][series[row.model]] += value(row)
    most = max(sum(parts) for parts in sums.values()) or 1
    bars = []
    for place, (time, parts) in enumerate(sums.items()):
        top, pieces = float(_HEIGHT), []
        for number, part in enumerate(parts):
            height = part / most * _HEIGHT
            top -= height
            if height:
                pieces.append(
                    f'<rect class="s{number}" x="{place + 0.1:.1f}" y="{top:.2f}" width=".8" height="{height:.2f}"/>'
                )
        ground = f'<rect class="ground" x="{place}" y="0" width="1" height="{_HEIGHT}"/>'
        bars.append(f"<g><title>{time}: {show(sum(parts))}</title>{ground}{''.join(pieces)}</g>")
    few = len(times) < FEWEST_BARS
    ends = f"{times[0]} to {times[-1]}" if few else f"<span>{times[0]}</span><span>{times[-1]}</span>"
    return (
        f'<p class="scale">{show(most)}</p>'
        f'<svg viewBox="0 0 {max(len(times), FEWEST_BARS)} {_HEIGHT}" preserveAspectRatio="none" role="img">'
        f'{"".join(bars)}</svg><p class="axis">{ends}</p>'
    )


def _legend(models: Sequence[str]) -> str:
    names = [*models[:SERIES], *([OTHERS] if len(models) > SERIES else [])]
    return "".join(f'<span class="s{number}">{_text(name)}</span>' for number, name in enumerate(names))


def _table(rows: Sequence[UsageRow], by: str, series: Mapping[str, int] | None = None) -> str:
    """Return a table, the dearest first, with a bar for the share of each row."""
    most = max(map(_cost, rows)) or max(map(_tokens, rows)) or 1
    value = _cost if any(map(_cost, rows)) else _tokens
    lines = []
    for row in rows:
        totals, name = row.totals, getattr(row, by)
        kind = f"s{series[name]}" if series else "plain"
        width = f"{value(row) / most * 100:.2f}"
        bar = f'<rect class="{kind}" width="{width}" height="1"/>'
        share = f'<svg viewBox="0 0 100 1" preserveAspectRatio="none">{bar}</svg>'
        cells = (row.requests, totals.input, totals.output, totals.cache_read, totals.cache_write)
        numbers = "".join(f"<td>{number:,}</td>" for number in cells)
        lines.append(f"<tr><th>{_text(name)}{share}</th>{numbers}<td>{_money(totals.cost)}</td></tr>")
    return "\n".join(lines)


def _text(text: str) -> str:
    return escape(one_line(text) or "(unknown)")
