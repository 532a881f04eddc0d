from __future__ import annotations

from typing import Any

import pytest

from piolet.llm.messages import THINKING_LEVELS
from piolet.tui.blocks.bash import BashView, bash_lines
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.messages import assistant_lines, compaction_lines, custom_lines, thinking_lines, user_lines
from piolet.tui.blocks.rules import rule
from piolet.tui.pictures import Picture
from piolet.tui.spans import Line, Style, row
from piolet.tui.theme import (
    BACKGROUND_TOKENS,
    FALLBACKS,
    FOREGROUND_TOKENS,
    TOKENS,
    ThemeError,
    appearance_from_colorfgbg,
    choose_theme,
    parse_theme,
)
from piolet.tui.theme_builtin import BUILT_IN_THEMES, built_in_theme, theme_file
from piolet.tui.theme_color import contrast
from piolet.tui.transcript_marks import mark_found

#: What never draws letters.
LINES = {"borderMuted", "mdHr", "mdQuoteBorder", "scrollbarTrack"}
TERMINALS = {"dark": ["#000000", "#1e1e1e", "#282c34"], "light": ["#ffffff", "#f8f8f8", "#eff1f5"]}


def theme(**changes: Any) -> dict[str, Any]:
    return {**theme_file("dark"), "name": "t", **changes}


def colors(**changes: Any) -> dict[str, Any]:
    return {**theme_file("dark")["colors"], **changes}


def test_there_are_56_tokens_of_which_51_are_required() -> None:
    assert len(set(TOKENS)) == 56
    assert len(set(TOKENS) - set(FALLBACKS)) == 51


@pytest.mark.parametrize("truecolor", [True, False])
@pytest.mark.parametrize("name", BUILT_IN_THEMES)
def test_all_text_can_be_read_wherever_it_may_stand(name: str, truecolor: bool) -> None:
    found = built_in_theme(name)
    assert found.appearance == name
    colors = found.palette(truecolor=truecolor)
    texts = [token for token in FOREGROUND_TOKENS if token not in LINES]
    grounds = {token: colors[token] for token in BACKGROUND_TOKENS if token != "searchMatchBg"}
    pairs = [(token, where, color) for token in texts for where, color in grounds.items()]
    pairs += [(token, "the terminal's", color) for token in texts for color in TERMINALS[name]]
    pairs.append(("searchMatchText", "searchMatchBg", colors["searchMatchBg"]))
    poor = {
        f"{token} on {where} {color}": round(contrast(colors[token], color), 2)
        for token, where, color in pairs
        if contrast(colors[token], color) < 4.5
    }
    assert poor == {}


SAMPLE = """# One

> a quote `x` [there](https://x.example)

---

- [x] done

```python
def f(x): return "s" + 1  # no
```

| a | b |
| - | - |
| 1 | *2* |
"""


def test_what_draws_lines_draws_no_letters_and_places_found_have_their_own_colour() -> None:
    frame = Frame(60, expanded=True, hyperlinks=False)
    drawn = [
        *user_lines(SAMPLE, frame, [Picture("", "image/png")]),
        *assistant_lines(SAMPLE, frame),
        *thinking_lines(SAMPLE, frame),
        *custom_lines("note", SAMPLE, frame),
        *compaction_lines(SAMPLE, 1000, frame),
        *bash_lines(BashView("ls", SAMPLE, exit_code=1, full_output_path="/f"), frame),
        *rules(),
    ]
    spans = {span.style for line in drawn for span in line if any(map(str.isalnum, span.text))}
    assert {style.fg for style in spans} & LINES == set()
    assert {style.fg for style in spans} >= {"mdCodeBlockBorder", "mdQuote", "mdLinkUrl", "syntaxComment", "muted"}
    assert {style.bg for style in spans} == {None, "userMessageBg", "customMessageBg"}
    found = [span.style for line in drawn for span in mark_found(line, "a") if span.text in ("a", "A")]
    assert {(style.fg, style.bg) for style in found} == {("searchMatchText", "searchMatchBg")}


def rules() -> list[Line]:
    """Return the editor's rules of all levels, with what stands in them."""
    return [rule(60, f"thinking{level.title()}", row("text", Style("muted")), "3 more") for level in THINKING_LEVELS]


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
