"""Cases about the terminal."""

from __future__ import annotations

from typing import Any

from piolet.tui import ansi
from piolet.tui.buffer import Buffer
from piolet.tui.keys import KeyDecoder, Paste
from piolet.tui.text import graphemes
from tests.conformance.cases.tui_program import check_program
from tests.conformance.outcome import Skip, equal


def check_case(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    match given.get("function"):
        case "width":
            equal([ansi.width(row) for row in given["rows"]], expected["result"])
        case "truncate":
            for string, limit in given["rows"]:
                _check_cut(string, limit)
        case "wrap":
            for string, limit in given["rows"]:
                _check_rows(string, limit)
        case str(name):
            raise Skip(f"unknown function {name!r}")
        case _ if "paste" in given:
            _check_paste(case)
        case _:
            check_program(case)


def _check_cut(string: str, limit: int) -> None:
    cut = ansi.truncate(string, limit)
    assert ansi.width(cut) <= limit, f"{string!r} to {limit}: {cut!r} is too wide"
    whole, kept = graphemes(_bare(string)), graphemes(_bare(cut).removesuffix("…"))
    assert whole[: len(kept)] == kept, f"{string!r} to {limit}: {cut!r} has a part of a character"
    assert "\x1b" not in cut or cut.endswith("\x1b[0m"), f"{cut!r} leaves a style behind"
    if ansi.width(string) <= limit:
        equal(_bare(cut), _bare(string))


def _check_rows(string: str, limit: int) -> None:
    rows = ansi.wrap(string, limit)
    assert all(ansi.width(row) <= limit for row in rows), f"{rows!r}: wider than {limit}"
    equal("".join(map(_bare, rows)).replace(" ", ""), _bare(string).replace(" ", "").replace("\n", ""))


def _check_paste(case: dict[str, Any]) -> None:
    wanted = "sent text is 'a\\nb\\tcde'"
    if not case["expected"]["property"].startswith(wanted):
        raise Skip(f"unknown property {case['expected']['property']!r}")
    found = KeyDecoder().feed(f"\x1b[200~{case['input']['paste']}\x1b[201~".encode())
    equal(len(found), 1)
    assert isinstance(found[0], Paste), f"a paste was read as {found[0]}"
    buffer = Buffer()
    buffer.paste(found[0].text)
    equal(buffer.submit(), "a\nb\tcde")


def _bare(string: str) -> str:
    return "".join(span.text for line in ansi.parse(string) for span in line)
