from __future__ import annotations

from typing import Any

import pytest

from piolet.tui.theme import (
    BACKGROUND_TOKENS,
    FALLBACKS,
    TOKENS,
    ThemeError,
    appearance_from_colorfgbg,
    choose_theme,
    parse_theme,
)
from piolet.tui.theme_builtin import BUILT_IN_THEMES, built_in_theme, theme_file
from piolet.tui.theme_color import contrast

LINES = {"border", "borderAccent", "borderMuted", "mdHr", "mdCodeBlockBorder", "mdQuoteBorder", "scrollbarTrack"}
PANELS = {
    "userMessageBg": ["userMessageText", "mdHeading", "mdLink", "mdCode", "mdQuote", "mdListBullet", "accent"],
    "customMessageBg": ["customMessageText", "customMessageLabel", "mdHeading", "mdLink", "mdCode", "mdQuote"],
    "selectedBg": ["text", "muted", "accent", "success", "warning", "error"],
    "searchMatchBg": ["searchMatchText"],
}
TOOL_TEXT = ["toolTitle", "toolOutput", "toolDiffAdded", "toolDiffRemoved", "toolDiffContext", "accent", "muted", "dim"]
TERMINALS = {"dark": ["#000000", "#1e1e1e", "#282c34"], "light": ["#ffffff", "#f8f8f8", "#eff1f5"]}


def theme(**changes: Any) -> dict[str, Any]:
    return {**theme_file("dark"), "name": "t", **changes}


def colors(**changes: Any) -> dict[str, Any]:
    return {**theme_file("dark")["colors"], **changes}


def test_there_are_56_tokens_of_which_51_are_required() -> None:
    assert len(set(TOKENS)) == 56
    assert len(set(TOKENS) - set(FALLBACKS)) == 51


@pytest.mark.parametrize("name", BUILT_IN_THEMES)
def test_built_in_text_can_be_read_where_it_usually_stands(name: str) -> None:
    found = built_in_theme(name)
    assert found.appearance == name
    pairs = [(token, ground) for token in TOKENS for ground in TERMINALS[name] if token not in BACKGROUND_TOKENS]
    pairs += [(token, found.colors[panel]) for panel, tokens in PANELS.items() for token in tokens]
    pairs += [
        (token, found.colors[panel])
        for panel in ("toolPendingBg", "toolSuccessBg", "toolErrorBg")
        for token in [*TOOL_TEXT, *(token for token in TOKENS if token.startswith("syntax"))]
    ]
    poor = {
        f"{token} on {ground}": round(contrast(found.colors[token], ground), 2)
        for token, ground in pairs
        if token not in LINES and contrast(found.colors[token], ground) < 4.5
    }
    assert poor == {}


@pytest.mark.parametrize("name", BUILT_IN_THEMES)
def test_built_in_themes_leave_no_token_out(name: str) -> None:
    assert set(theme_file(name)["colors"]) == set(TOKENS)


def test_a_missing_token_is_named() -> None:
    given = colors()
    del given["mdCode"], given["bashMode"], given["scrollbarTrack"]
    with pytest.raises(ThemeError, match=r"colors lacks mdCode, bashMode$"):
        parse_theme(theme(colors=given))


def test_optional_tokens_fall_back() -> None:
    given = {token: color for token, color in colors(muted=7, selectedBg="#010203").items() if token not in FALLBACKS}
    found = parse_theme(theme(colors=given)).colors
    assert (found["scrollbarTrack"], found["searchMatchBg"]) == (7, "#010203")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colors": colors(accent="nope")}, "accent: 'nope' is no colour"),
        ({"colors": colors(accent="a"), "vars": {**theme_file("dark")["vars"], "a": "b", "b": "a"}}, "a -> b -> a"),
        ({"colors": colors(accentt="#fff")}, "colors has unknown keys: accentt"),
        ({"colors": None}, "colors is missing"),
        ({"colors": []}, "colors is no object"),
        ({"extra": 1}, "the theme has unknown keys: extra"),
        ({"export": {"bg": "#000"}}, "export has unknown keys: bg"),
        ({"vars": []}, "vars is no object"),
        ({"name": "system"}, "name is 'system'"),
        ({"name": "a/b"}, "name is 'a/b'"),
        ({"name": ""}, "name is ''"),
        ({"appearance": "dim"}, "appearance is 'dim'"),
        ({"$schema": 1}, "schema"),
    ],
)
def test_what_is_wrong_with_a_theme_is_said(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ThemeError, match=message.replace("(", r"\(")):
        parse_theme(theme(**changes))


def test_a_theme_that_is_no_object_is_refused() -> None:
    with pytest.raises(ThemeError, match="the theme is no object"):
        parse_theme([])


def test_unused_variables_are_not_checked() -> None:
    variables = {**theme_file("dark")["vars"], "a": "b", "b": "a", "c": None}
    assert parse_theme(theme(vars=variables)).name == "t"


@pytest.mark.parametrize(
    ("front", "back", "expected"), [(0, "", "light"), (15, "", "dark"), ("", 15, "light"), ("", "", "dark")]
)
def test_the_appearance_is_guessed_from_what_is_known(front: Any, back: Any, expected: str) -> None:
    given = {token: back if token in BACKGROUND_TOKENS else front for token in TOKENS}
    assert parse_theme({"name": "t", "colors": given}).appearance == expected


def test_a_palette_of_256_keeps_the_terminals_default() -> None:
    found = parse_theme(theme(colors=colors(text="", accent="#123456", success=7)))
    palette = found.palette(truecolor=False)
    assert (palette["text"], palette["accent"], palette["success"]) == ("", 23, 7)
    assert found.palette(truecolor=True)["accent"] == "#123456"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("solo", "solo"), (" a / b ", "b"), ("a/b/c", None), ("/b", None), ("a/ ", None), ("", None)],
)
def test_a_setting_names_a_theme_or_a_pair(setting: str, expected: str | None) -> None:
    assert choose_theme(setting, "dark") == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("0;15", "light"), ("1;2;6", "dark"), ("15;x", None), ("٣", None), ("0;-1", None)]
)
def test_the_last_field_of_colorfgbg_counts(value: str, expected: str | None) -> None:
    assert appearance_from_colorfgbg(value) == expected
