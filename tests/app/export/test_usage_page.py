"""The page of ``piolet usage --html``: charts and tables, no script, nothing foreign as markup."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from piolet.app.export.usage_page import MOST_DAYS, SERIES, periods, usage_page
from piolet.app.usage import UsageRow
from piolet.harness.session.totals import Totals
from tests.support.browser import CHROMIUM, Browser


def row(day: str, model: str, cost: float, project: str = "/w", tokens: int = 1000) -> UsageRow:
    return UsageRow(day, project, model, 1, Totals(input=tokens, cost=cost))


def charts(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg viewBox=\"0 0 \d+ 160\".*?</svg>", page)]


def test_every_day_has_a_bar_in_which_the_models_stand_on_each_other() -> None:
    page = usage_page([row("2026-02-01", "a/x", 3), row("2026-02-01", "b/y", 1), row("2026-02-03", "a/x", 2)])
    cost, tokens = charts(page)
    assert [bar.findtext("title") for bar in cost] == ["2026-02-01: $4.00", "2026-02-02: $0.00", "2026-02-03: $2.00"]
    first = cost[0].findall("rect")[1:]
    assert [(bar.get("class"), bar.get("y"), bar.get("height")) for bar in first] == [
        ("s0", "40.00", "120.00"),
        ("s1", "0.00", "40.00"),
    ]
    assert next(bar.findtext("title") for bar in tokens) == "2026-02-01: 2.0k"
    assert "$6.00" in page


def test_models_beyond_the_colours_share_one() -> None:
    page = usage_page([row("2026-02-01", f"p/m{number}", 10 - number) for number in range(SERIES + 3)])
    assert "other models" in page
    assert page.count(f'class="s{SERIES}"') == 2 + 3 + 1  # a bar in each chart, rows of the table, the legend
    assert f'class="s{SERIES + 1}"' not in page


def test_a_long_time_is_told_by_months() -> None:
    assert periods(["2026-02-27", "2026-03-02"]) == ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
    assert len(periods(["2026-01-01", "2026-04-30"])) == MOST_DAYS
    assert periods(["2025-11-30", "2026-04-30"]) == [f"2025-{month}" for month in (11, 12)] + [
        f"2026-0{month}" for month in (1, 2, 3, 4)
    ]
    assert periods(["", ""]) == []


def test_usage_without_cost_or_day_is_shown() -> None:
    page = usage_page([row("", "local/x", 0, tokens=10)])
    assert "local/x" in page
    assert 'width="100.00"' in page


def test_names_are_text() -> None:
    evil = "</style><script>alert(1)</script>\x1b[31m"
    page = usage_page([row("2026-02-01", evil, 1, project=evil)])
    assert "<script" not in page
    assert page.count("</style>") == 1
    assert "&lt;/style&gt;&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt install chromium)")
def test_a_browser_has_nothing_to_complain_about(tmp_path: Path) -> None:
    (tmp_path / "usage.html").write_text(usage_page([row("2026-02-01", "a/x", 3), row("2026-02-20", "b/y", 1)]))
    browser = Browser()
    try:
        tab = browser.open(tmp_path / "usage.html", width=390, height=844)
        assert tab.complaints() == []
        assert tab.run("document.documentElement.scrollWidth") == 390
        assert tab.run("getComputedStyle(document.querySelector('rect.s0')).fill") != "rgb(0, 0, 0)"
    finally:
        browser.close()
