"""Loading one theme: validation, variables, fallbacks, escape sequences."""

from __future__ import annotations

from typing import Any

from piolet.tui.theme import TOKENS, parse_theme
from tests.conformance.outcome import equal
from tests.conformance.resources.world import expect


def load_theme(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    value = dict(given["theme"])
    if given["hasColors"]:
        value["colors"] = {
            token: color
            for token, color in {**shared["base"], **given["patch"]}.items()
            if token not in given["remove"]
        }
    equal(sorted(TOKENS), sorted(token["name"] for token in shared["tokens"]), "tokens")

    def found() -> dict[str, Any]:
        theme = parse_theme(value)
        ansi = {
            token: {
                "truecolor": theme.sequence(token, truecolor=True),
                "indexed": theme.sequence(token, truecolor=False),
            }
            for token in given["show"]
        }
        return {"name": theme.name, "appearance": theme.appearance, "ansi": ansi}

    expect(case, found)


OPS = {"load_theme": load_theme}
