"""``piolet usage`` over sessions that the program itself wrote."""

from __future__ import annotations

import json

import pytest

from tests.support.replies import openai
from tests.support.run import Place
from tests.support.server import ScriptedServer

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 500_000, "total_tokens": 1_500_000}


def _two_answers(place: Place) -> None:
    with ScriptedServer([openai("one", usage=USAGE), openai("two", usage=USAGE)]) as server:
        place.write_models(server.url)
        assert place.run("-p", "--model", "stub/m1", "first").exit == 0
        assert place.run("-p", "-c", "--model", "stub/m1", "second").exit == 0


def test_tokens_and_cost_are_summed_by_day_project_and_model(place: Place) -> None:
    _two_answers(place)
    (row,) = json.loads(place.run("usage", "--json").stdout)
    assert (row["project"], row["model"], row["requests"]) == (str(place.cwd), "stub/m1", 2)
    assert row["tokens"]["input"] == 2_000_000
    assert row["tokens"]["output"] == 1_000_000
    assert row["cost"] == 4  # 1 dollar a million in, 2 dollars a million out


def test_copied_entries_are_counted_once(place: Place) -> None:
    _two_answers(place)
    (path,) = place.sessions()
    copied = place.run("-p", "--fork", str(path), "--model", "stub/m1")
    assert copied.exit == 0
    assert len(place.sessions()) == 2
    assert sum(row["requests"] for row in json.loads(place.run("usage", "--json").stdout)) == 2


def test_tables_show_every_view_and_one_can_be_chosen(place: Place) -> None:
    _two_answers(place)
    shown = place.run("usage").stdout
    assert all(word in shown for word in ("day", "project", "model", "stub/m1", "$4.00", "2,000,000"))
    only = place.run("usage", "--by", "model").stdout
    assert only.split()[0] == "model"
    assert str(place.cwd) not in only


def test_nothing_recorded_says_so(place: Place) -> None:
    done = place.run("usage", "--since", "2020-01-01")
    assert (done.stdout, done.exit) == ("No usage is recorded since 2020-01-01\n", 0)


def test_a_page_with_charts_is_written_for_the_user_alone(place: Place) -> None:
    _two_answers(place)
    done = place.run("usage", "--html", "sub.html")
    assert (done.stdout, done.exit) == ("Written to: sub.html\n", 0)
    page = place.cwd / "sub.html"
    assert "$4.00" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert place.run("usage", "--html").stdout == "Written to: piolet-usage.html\n"
    refused = place.run("usage", "--html", "sub.html/x.html")
    assert refused.exit == 1
    assert refused.stderr.startswith("Error: sub.html/x.html cannot be written: ")


@pytest.mark.parametrize("day", ["2026-13-45", "2020-1-1", "yesterday", ""])
def test_a_day_that_does_not_exist_is_an_error(place: Place, day: str) -> None:
    done = place.run("usage", "--since", day)
    assert (done.stdout, done.exit) == ("", 1)
    assert "is not a day such as 2026-01-31" in done.stderr


def test_usage_is_written_in_one_shape(place: Place) -> None:
    done = place.run("usage", "--json", "--html", "both.html")
    assert (done.stdout, done.exit) == ("", 1)
    assert "not allowed with argument --json" in done.stderr
