"""``piolet usage``: tokens and cost of all sessions by day, project and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from piolet.cli.progress import Progress
from piolet.modes.say import complain, one_line

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from piolet.app.usage import UsageRow

VIEWS = ("day", "project", "model")
COLUMNS = ("requests", "input", "output", "cache read", "cache write", "cost")


def main(argv: Sequence[str]) -> int:
    """Run ``piolet usage …``; `argv` begins with "usage". Return the exit code."""
    arguments = _parser().parse_args(argv[1:])
    from piolet.app.usage import read_usage, summed
    from piolet.cli.sessions import session_place

    with Progress("Reading sessions") as progress:
        files = progress.each(sorted(session_place(arguments.session_dir).all_files()))
        rows = [row for row in read_usage(files) if not arguments.since or row.day >= arguments.since]
    if arguments.json:
        from piolet.base.json import dumps

        print(dumps([_record(row) for row in rows]))
        return 0
    if not rows:
        print("No usage is recorded" + (f" since {arguments.since}" if arguments.since else ""))
        return 0
    if arguments.html:
        return _write_page(arguments.html, rows)
    views = [arguments.by] if arguments.by else VIEWS
    print("\n\n".join(_table(view, summed(rows, view)) for view in views))
    return 0


def _write_page(target: str, rows: Sequence[UsageRow]) -> int:
    from pathlib import Path

    from piolet.app.export.usage_page import usage_page
    from piolet.base.files import write_private

    try:
        write_private(Path(target).expanduser(), usage_page(rows).encode("utf-8", "replace"))
    except OSError as error:
        complain(f"{target} cannot be written: {error.strerror}")
        return 1
    print(f"Written to: {one_line(target)}")
    return 0


def _parser() -> ArgumentParser:
    from piolet.cli.command_parser import CommandParser

    parser = CommandParser(
        prog="piolet usage", description="Show tokens and cost (US dollars) of all sessions by day, project and model."
    )
    parser.add_argument("--by", choices=VIEWS, help="only this table")
    parser.add_argument("--since", metavar="YYYY-MM-DD", type=_day, help="leave out earlier days (UTC)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="write JSON: one record a day, project and model")
    shape.add_argument(
        "--html",
        metavar="FILE",
        nargs="?",
        const="piolet-usage.html",
        help="write a page with charts (piolet-usage.html)",
    )
    parser.add_argument("--session-dir", metavar="DIR", help="the folder of the sessions")
    return parser


def _day(text: str) -> str:
    from argparse import ArgumentTypeError
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a day such as 2026-01-31") from None


def _table(view: str, rows: Sequence[UsageRow]) -> str:
    lines = [(view, *COLUMNS), *(_cells(one_line(getattr(row, view)) or "(unknown)", row) for row in rows)]
    if len(rows) > 1:
        lines.append(_cells("all", _total(rows)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS) + 1)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )


def _cells(name: str, row: UsageRow) -> tuple[str, ...]:
    totals = row.totals
    counts = (row.requests, totals.input, totals.output, totals.cache_read, totals.cache_write)
    return (
        name,
        *(f"{count:,}" for count in counts),
        f"${totals.cost:.2f}" if totals.cost >= 0.01 else f"${totals.cost:.4f}",
    )


def _total(rows: Sequence[UsageRow]) -> UsageRow:
    from piolet.app.usage import UsageRow
    from piolet.harness.session.totals import Totals

    total = UsageRow("", "", "", sum(row.requests for row in rows), Totals())
    for row in rows:
        total.totals.merge(row.totals)
    return total


def _record(row: UsageRow) -> dict[str, Any]:
    totals = row.totals
    return {
        "day": row.day,
        "project": row.project,
        "model": row.model,
        "requests": row.requests,
        "tokens": {
            "input": totals.input,
            "output": totals.output,
            "cacheRead": totals.cache_read,
            "cacheWrite": totals.cache_write,
            "total": totals.tokens,
        },
        "cost": totals.cost,
    }
