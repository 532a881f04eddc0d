from __future__ import annotations

from textwrap import indent

import pytest

from piolet.tui.markdown import render
from piolet.tui.markdown_inline import Look
from piolet.tui.spans import PLAIN, Span, Style, line_text, line_width


def texts(source: str, limit: int = 40, look: Look | None = None) -> list[str]:
    return [line_text(line).rstrip() for line in render(source, limit, look)]


def styles(source: str, look: Look | None = None) -> dict[str, Style]:
    return {span.text: span.style for line in render(source, 60, look) for span in line}


def test_headings_keep_their_signs_from_the_third_level_on() -> None:
    assert texts("# One\n## Two\n### Three") == ["One", "", "Two", "", "### Three"]
    assert styles("# One")["One"] == Style("mdHeading", bold=True, underline=True)
    assert styles("## Two")["Two"] == Style("mdHeading", bold=True)
    assert styles("### Three")["Three"] == Style("mdHeading", bold=True)


def test_emphasis_and_inline_code_are_styled() -> None:
    found = styles("a **b** *c* ~~d~~ `e` ***f***")
    assert found["b"] == Style(bold=True)
    assert found["c"] == Style(italic=True)
    assert found["d"] == Style(strike=True)
    assert found["e"] == Style("mdCode")
    assert found["f"] == Style(bold=True, italic=True)


def test_the_base_style_lies_beneath_everything() -> None:
    look = Look(Style("thinkingText", italic=True))
    assert styles("a **b** `c`", look) == {
        "a ": Style("thinkingText", italic=True),
        "b": Style("thinkingText", bold=True, italic=True),
        " ": Style("thinkingText", italic=True),
        "c": Style("mdCode", italic=True),
    }


def test_an_address_is_spelled_out_only_where_it_could_not_be_followed() -> None:
    source = "[text](https://x.example/a)"
    assert styles(source)["text"] == Style("mdLink", underline=True, link="https://x.example/a")
    assert texts(source) == ["text"]
    assert texts(source, look=Look(hyperlinks=False)) == ["text (https://x.example/a)"]
    assert texts("<https://x.example>", look=Look(hyperlinks=False)) == ["https://x.example"]
    assert texts("<me@x.example>", look=Look(hyperlinks=False)) == ["me@x.example"]


def test_a_bare_address_is_a_link_without_the_sign_behind_it() -> None:
    assert styles("see https://x.example/a.")["https://x.example/a"].link == "https://x.example/a"
    assert styles("(https://x.example)")["https://x.example"].link == "https://x.example"


def test_scripts_are_no_links() -> None:
    assert all(style.link == "" for style in styles("[x](javascript:alert(1))").values())


def test_lists_nest_by_four_columns_and_keep_boxes_and_numbers() -> None:
    assert texts("- a\n- [x] b\n  - c\n    1. d\n- e") == ["- a", "- [x] b", "    - c", "        1. d", "- e"]
    assert texts("3. a\n1. b") == ["3. a", "4. b"]
    assert styles("- a")["- "] == Style("mdListBullet")
    assert styles("- [x] a")["- [x] "] == Style("mdListBullet")


def test_the_text_of_an_item_hangs_behind_its_marker() -> None:
    assert texts("- one two three\n- x", 9) == ["- one two", "  three", "- x"]
    assert texts("10. one two three", 12) == ["10. one two", "    three"]


def test_blank_lines_inside_lists_follow_the_source() -> None:
    assert texts("- a\n\n  b\n- c\n\n- d") == ["- a", "", "  b", "- c", "", "- d"]


def test_an_empty_item_shows_its_marker() -> None:
    assert texts("-\n- a") == ["-", "- a"]


def test_an_item_may_begin_with_any_block() -> None:
    assert texts("- ```\n  x\n  ```") == ["- ```", "    x", "  ```"]
    assert texts("- - a") == ["-   - a"]


def test_quotes_have_a_border_and_are_italic() -> None:
    assert texts("> one\n>\n> two") == ["│ one", "│", "│ two"]
    assert styles("> one") == {"│ ": Style("mdQuoteBorder"), "one": Style("mdQuote", italic=True)}
    assert texts("> one two", 7) == ["│ one", "│ two"]


def test_a_rule_is_at_most_eighty_columns() -> None:
    assert texts("---", 10) == ["─" * 10]
    assert texts("---", 200) == ["─" * 80]


def test_code_keeps_its_fences_and_is_set_in() -> None:
    source = "```python\nx = 1\n\n```"
    assert texts(source) == ["```python", "  x = 1", "", "```"]
    assert styles(source)["```python"] == Style("mdCodeBlockBorder")
    assert styles(source)["1"] == Style("syntaxNumber")
    assert styles(source)["x"] == Style("mdCodeBlock")
    assert texts("~~~\na\n~~~", look=Look(code_indent="")) == ["~~~", "a", "~~~"]


def test_a_diagram_is_drawn_if_the_setting_is_on_and_it_is_narrow_enough() -> None:
    source = "```mermaid\ngraph LR\n a --> b\n```"
    drawing = ["┌───┐   ┌───┐", "│ a ├──▶│ b │", "└───┘   └───┘"]
    on = Look(mermaid="streaming")
    assert texts(source, look=on) == texts(source, look=Look(mermaid="final")) == drawing
    assert texts(source)[0] == "```mermaid"
    assert texts(source, 4, look=on)[0] == "```m"
    assert texts(source.replace("-->", "-/->"), look=on)[0] == "```mermaid"
    assert texts(source.removesuffix("```"), look=on)[0] == "```mermaid"
    assert texts("- x\n" + indent(source, "  "), look=on) == ["- x", *("  " + row for row in drawing)]


def test_a_drawing_lies_over_the_style_of_the_text_around_it() -> None:
    look = Look(Style("userMessageText"), mermaid="final")
    found = {span.text: span.style for line in render("~~~mermaid\ngraph\na\n~~~", 40, look) for span in line}
    assert found[" a "] == Style("userMessageText")
    assert found["┌───┐"] == Style("mdCodeBlockBorder")


def test_an_open_fence_is_drawn_closed() -> None:
    assert texts("```\nx") == ["```", "  x", "```"]
    assert texts("```") == ["```", "```"]


def test_markdown_inside_code_is_plain() -> None:
    assert texts("```\n**a** $x^2$\n```")[1] == "  **a** $x^2$"


def test_tables_are_boxes_with_aligned_and_wrapped_cells() -> None:
    source = "| a | b | c |\n|---|:-:|--:|\n| one two | x | y |"
    assert texts(source) == [
        "┌─────────┬───┬───┐",
        "│ a       │ b │ c │",
        "├─────────┼───┼───┤",
        "│ one two │ x │ y │",
        "└─────────┴───┴───┘",
    ]
    assert texts("|a|b|\n|-|:-:|\n|xxx yyy zzz|long cell|", 19) == [
        "┌────────┬────────┐",
        "│ a      │   b    │",
        "├────────┼────────┤",
        "│ xxx    │  long  │",
        "│ yyy    │  cell  │",
        "│ zzz    │        │",
        "└────────┴────────┘",
    ]


def test_a_table_that_is_too_wide_for_its_columns_is_raw_text() -> None:
    assert texts("|a|b|c|\n|-|-|-|\n|1|2|3|", 12) == ["|a|b|c|", "|-|-|-|", "|1|2|3|"]


def test_wide_characters_keep_tables_straight() -> None:
    lines = render("|中文|b|\n|-|-|\n|x|👨‍👩‍👧|", 30)
    assert {line_width(line) for line in lines} == {13}


def test_html_is_text() -> None:
    assert texts("a <b>c</b>\n\n<div>d</div>") == ["a <b>c</b>", "", "<div>d</div>"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("area $x^2$ ok", "area x² ok"),
        (r"\(\alpha_1\)", "α₁"),
        ("$$a_1$$", "a₁"),
        ("$5 and $10", "$5 and $10"),
        ("costs $5, or 6$", "costs $5, or 6$"),
        ("`$x^2$`", "$x^2$"),
        (r"$\unknown{x}$", r"$\unknown{x}$"),
    ],
)
def test_inline_formulas_become_unicode(source: str, text: str) -> None:
    assert texts(source) == [text]


def test_line_feeds_of_the_text_are_kept() -> None:
    assert texts("one\ntwo  \nthree") == ["one", "two", "three"]


def test_what_models_write_cannot_drive_the_terminal() -> None:
    source = "a\x1b[31mb\x1b]0;t\x07 `c\x1b[0m` \u202e\n```\n\x1b[2Jd\te\n```"
    assert texts(source) == ["ab c", "", "```", "  d   e", "```"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 20])
def test_no_line_is_wider_than_the_screen(limit: int) -> None:
    source = "# Head\n- item\n    - nested item\n\n> quote *b*\n\n```py\ndef f(): pass\n```\n\n|a|b|\n|-|-|\n|1|2|\n"
    assert all(line_width(line) <= limit for line in render(source, limit))


def test_empty_text_has_no_lines() -> None:
    assert render("", 10) == []
    assert render("\n\n", 10) == []


def test_a_definition_is_not_shown() -> None:
    assert render("[a]: https://x.example\n\nb", 20) == [(Span("b", PLAIN),)]
