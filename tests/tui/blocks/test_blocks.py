from __future__ import annotations

from base64 import b64encode

import pytest

from piolet.tui.blocks.bash import BashView, bash_lines
from piolet.tui.blocks.folding import first_rows, last_rows
from piolet.tui.blocks.footer import FooterView, count, footer_lines
from piolet.tui.blocks.frame import Frame, box, inset
from piolet.tui.blocks.header import HeaderView, header_lines
from piolet.tui.blocks.messages import (
    assistant_lines,
    branch_lines,
    compaction_lines,
    custom_lines,
    skill_lines,
    stop_lines,
    thinking_lines,
    user_lines,
)
from piolet.tui.blocks.notices import error_lines, queue_lines, section_lines, status_lines, warning_lines
from piolet.tui.blocks.rules import busy_text, more, rule
from piolet.tui.blocks.tool_card import Card, card_lines
from piolet.tui.pictures import Picture, PictureRoom
from piolet.tui.spans import Line, Span, Style, line_text, line_width, picture_in, row
from tests.support.graphics import picture

FRAME = Frame(60)
OPEN = Frame(60, expanded=True)
PICTURE = Picture(b64encode(picture(2, 3)).decode(), "image/png")
EVIL = "a\x1b]0;pwn\x07\x1b[2Jb\u202e"


def texts(lines: list[Line]) -> list[str]:
    return [line_text(line).strip() for line in lines]


def backgrounds(lines: list[Line]) -> set[str | int | None]:
    return {span.style.bg for line in lines for span in line}


# -------------------------------------------------------------------------------------------------------------- frame


def test_a_box_fills_the_width_with_its_background() -> None:
    lines = box([row("hi", Style("text"))], FRAME, "userMessageBg")
    assert [line_width(line) for line in lines] == [60, 60, 60]
    assert texts(lines) == ["", "hi", ""]
    assert backgrounds(lines) == {"userMessageBg"}
    assert lines[1][1] == Span("hi", Style("text", "userMessageBg"))


def test_text_without_a_box_has_the_padding_of_the_setting() -> None:
    assert inset([row("x")], FRAME) == [(Span(" "), Span("x"))]
    assert inset([row("x")], Frame(60, padding=0)) == [row("x")]


# ----------------------------------------------------------------------------------------------------------- messages


def test_a_pasted_log_is_drawn_as_it_is() -> None:
    lines = user_lines("**a** line\n" * 30_000, FRAME)
    assert texts(lines[:3]) == ["", "**a** line", "**a** line"]


def test_a_user_message_is_markdown_in_a_box_with_its_pictures() -> None:
    lines = user_lines("a **b**\nc", FRAME, [PICTURE])
    assert texts(lines) == ["", "a b", "c", "", "[image: image/png 2x3]", ""]
    assert lines[1][1].style == Style("userMessageText", "userMessageBg")


def test_pictures_are_drawn_over_blank_rows_in_the_box_where_there_is_room_for_them() -> None:
    frame = Frame(60, pictures=PictureRoom(20))
    for lines, above in (
        (user_lines("a", frame, [PICTURE]), ["", "a", ""]),
        (custom_lines("note", "a", frame, [PICTURE]), ["", "[note]", "", "a", ""]),
    ):
        assert texts(lines) == [*above, *[""] * 10, ""]
        shown = [picture_in(line) for line in lines[len(above) : -1]]
        assert shown == [(1, (PICTURE.number, 14, 10, row)) for row in range(10)]
        assert len(backgrounds(lines)) == 1
        assert {line_width(line) for line in lines} == {60}


def test_an_answer_stands_free_and_thinking_is_italic() -> None:
    assert texts(assistant_lines("\nhello\n", FRAME)) == ["hello"]
    assert thinking_lines("deep", FRAME)[0][1] == Span("deep", Style("thinkingText", italic=True))


def test_hidden_thinking_is_its_label_or_nothing() -> None:
    assert texts(thinking_lines("deep", FRAME, hidden=True)) == ["Thinking..."]
    assert texts(thinking_lines("deep", FRAME, hidden=True, label="Hmm")) == ["Hmm"]
    assert thinking_lines("deep", FRAME, hidden=True, label="") == []
    assert thinking_lines(" ", FRAME) == []


@pytest.mark.parametrize(
    ("reason", "error", "begins"),
    [
        ("length", "", "The answer was cut off"),
        ("error", "overloaded", "Error: overloaded"),
        ("aborted", "", "Operation aborted"),
        ("aborted", "Operation aborted", "Operation aborted"),
    ],
)
def test_an_answer_that_was_stopped_says_why(reason: str, error: str, begins: str) -> None:
    lines = stop_lines(reason, error, FRAME)
    assert texts(lines)[0].startswith(begins)
    assert lines[0][1].style == Style("error")


def test_an_answer_that_ended_by_itself_says_nothing() -> None:
    assert stop_lines("stop", "", FRAME) == stop_lines("toolUse", "", FRAME) == []


def test_summaries_and_skills_are_folded_until_expanded() -> None:
    assert texts(compaction_lines("s", 123_456, FRAME)) == [
        "", "[compaction] Compacted from 123,456 tokens (ctrl+o to expand)"[:57] + "…", "",
    ]  # fmt: skip
    assert texts(compaction_lines("*s*", 123_456, OPEN)) == [
        "", "[compaction] Compacted from 123,456 tokens", "", "s", "",
    ]  # fmt: skip
    assert texts(branch_lines("s", FRAME))[1] == "[branch] Branch summary (ctrl+o to expand)"
    assert texts(skill_lines("pdf", "body", FRAME))[1] == "[skill] pdf (ctrl+o to expand)"
    assert texts(skill_lines("pdf", "body", OPEN))[1:4] == ["[skill] pdf", "", "body"]


def test_a_message_of_an_extension_names_its_type() -> None:
    lines = custom_lines("note", "**x**", FRAME)
    assert texts(lines) == ["", "[note]", "", "x", ""]
    assert lines[1][1].style == Style("customMessageLabel", "customMessageBg", bold=True)


# -------------------------------------------------------------------------------------------------------------- cards


@pytest.mark.parametrize(
    ("status", "background"), [("pending", "toolPendingBg"), ("success", "toolSuccessBg"), ("error", "toolErrorBg")]
)
def test_the_background_of_a_card_tells_how_the_call_stands(status: str, background: str) -> None:
    lines = card_lines(Card([row("call")], [row("body")], status), FRAME)  # type: ignore[arg-type]
    assert texts(lines) == ["", "call", "", "body", ""]
    assert backgrounds(lines) == {background}


def test_a_renderer_may_draw_its_own_shell() -> None:
    assert card_lines(Card([row("call")], boxed=False), FRAME) == [row("call")]


def test_folding_shows_the_first_rows_and_counts_the_others() -> None:
    lines = [row(str(n)) for n in range(12)]
    assert texts(first_rows(lines, 10, FRAME))[-2:] == ["9", "... (2 more lines, ctrl+o to expand)"]
    assert texts(first_rows(lines, 10, Frame(60, expand_key="")))[-1] == "... (2 more lines)"
    assert first_rows(lines, 10, OPEN) == first_rows(lines, 12, FRAME) == lines


def test_the_last_rows_are_found_without_wrapping_what_is_before() -> None:
    rows, hidden = last_rows("\n".join(["x" * 100] * 50_000) + "\nend", 5, 40)
    # Two long lines make six rows; two of them and the 49,998 lines before are above the five that are shown.
    assert texts(rows) == ["x" * 20, "x" * 40, "x" * 40, "x" * 20, "end"]
    assert hidden == 50_000
    assert last_rows("a\nb", 5, 40) == ([row("a"), row("b")], 0)


def test_a_command_of_the_user_shows_the_end_of_its_output_between_rules() -> None:
    output = "\n".join(map(str, range(1, 31))) + "\n"
    lines = texts(bash_lines(BashView("seq 30", output), FRAME))
    assert lines[0] == lines[-1] == "─" * 60
    assert lines[1:5] == ["$ seq 30", "", "... 10 more lines (ctrl+o to expand)", "11"]
    assert lines[-2] == "30"
    assert len(bash_lines(BashView("seq 30", output), OPEN)) == 34


def test_a_command_says_how_it_stands_or_ended() -> None:
    def ending(view: BashView) -> str:
        return texts(bash_lines(view, FRAME))[-2]

    assert ending(BashView("x", running=True)) == "Running... (escape/ctrl+c to cancel)"
    assert ending(BashView("x", exit_code=3)) == "(exit 3)"
    assert ending(BashView("x", cancelled=True)) == "(cancelled)"
    assert ending(BashView("x", exit_code=0)) == "$ x"
    assert "Full output: /tmp/f" in ending(BashView("x", exit_code=0, full_output_path="/tmp/f"))


def test_a_command_that_the_model_never_sees_is_dim() -> None:
    assert bash_lines(BashView("x"), FRAME)[0][0].style == Style("bashMode")
    assert bash_lines(BashView("x", excluded=True), FRAME)[0][0].style == Style("dim")


# ------------------------------------------------------------------------------------------------------------- notices


def test_notices_have_their_colours() -> None:
    assert status_lines("s", FRAME)[0][1] == Span("s", Style("dim"))
    assert warning_lines("w", FRAME)[0][1] == Span("Warning: w", Style("warning"))
    assert error_lines("e", FRAME)[0][1] == Span("Error: e", Style("error"))
    assert texts(section_lines("Skills", ["a", "b"], FRAME)) == ["[Skills]", "a", "b"]
    problems = section_lines("Problems", ["file: " + "why " * 50], FRAME, problem=True)
    assert " ".join(texts(problems)).count("why") == 50


def test_queued_messages_are_one_line_each() -> None:
    assert texts(queue_lines(["one\ntwo"], ["three"], FRAME)) == [
        "Steering: one two",
        "Follow-up: three",
        "↳ Alt+Up to edit all queued messages",
    ]
    assert queue_lines([], [], FRAME) == []


# -------------------------------------------------------------------------------------------------------------- footer


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (9_940, "9.9k"),
        (10_400, "10k"),
        (999_400, "999k"),
        (1_000_000, "1.0M"),
        (12_300_000, "12M"),
    ],
)
def test_counts_are_short(number: int, text: str) -> None:
    assert count(number) == text


def test_the_footer_says_where_what_it_cost_and_which_model() -> None:
    view = FooterView(
        "/home/u/src", "main", "fix it", 1200, 50, 300, 0, 42.4, 0.1234, False, 12.34, 200_000, True, "stub", 2, "m1",
        "high", "/home/u",
    )  # fmt: skip
    first, second = map(line_text, footer_lines(view, 100))
    assert first == "~/src (main) • fix it"
    assert second.startswith("↑1.2k ↓50 R300 CH42% $0.123 12.3%/200k (auto)  ")
    assert second.endswith("  (stub) m1 • high")
    assert line_width(footer_lines(view, 100)[1]) == 100


def test_the_footer_says_where_tools_act_if_it_is_elsewhere() -> None:
    view = FooterView("/x", "main", elsewhere="ssh:far:/\x1bsrc")
    assert line_text(footer_lines(view, 60)[0]).startswith("/x (main) → ssh:far:/")
    assert "\x1b" not in line_text(footer_lines(view, 60)[0])


def test_what_is_zero_or_unknown_is_left_out() -> None:
    view = FooterView("/x", context_window=1000, auto_compact=False, model="m", thinking="off")
    assert line_text(footer_lines(view, 60)[1]).split() == ["?/1.0k", "m", "•", "thinking", "off"]


@pytest.mark.parametrize(("percent", "token"), [(70, "dim"), (70.1, "warning"), (90.1, "error"), (None, "dim")])
def test_a_full_context_is_a_warning(percent: float | None, token: str) -> None:
    line = footer_lines(FooterView("/x", context_percent=percent, context_window=1000), 60)[1]
    assert line[0].style == Style(token)


def test_the_provider_gives_way_in_a_narrow_footer() -> None:
    view = FooterView("/x", provider="stub", providers=2, model="model-1", cost=1)
    assert "(stub)" in line_text(footer_lines(view, 40)[1])
    assert "(stub)" not in line_text(footer_lines(view, 20)[1])


def test_statuses_of_extensions_are_a_third_line() -> None:
    lines = footer_lines(FooterView("/x"), 60, {"b": "two\x1b[2J", "a": "one\n"})
    assert line_text(lines[2]) == "one two"


# ------------------------------------------------------------------------------------------------------- header, rules


HINTS = [("escape", "interrupt"), ("/", "commands")]
KEYS = [("Program", "escape", "interrupt the answer"), ("Lists", "up", "up")]


def test_the_header_shows_hints_or_all_keys() -> None:
    view = HeaderView("piolet", "1.2", HINTS, KEYS, "a tip")
    assert texts(header_lines(view, FRAME)) == ["piolet v1.2", "escape interrupt · / commands", "", "a tip"]
    keys = ["Program", "escape  interrupt the answer", "", "Lists", "up      up"]
    assert texts(header_lines(view, OPEN)) == ["piolet v1.2", "", *keys]


def test_a_narrow_header_breaks_no_hint_and_keeps_its_columns() -> None:
    view = HeaderView("piolet", "1.2", HINTS, KEYS)
    assert texts(header_lines(view, Frame(26))) == ["piolet v1.2", "escape interrupt", "/ commands"]
    narrow = [line_text(line) for line in header_lines(view, Frame(26, expanded=True))]
    assert narrow[3:5] == [" escape  interrupt the", "         answer"]


def test_a_rule_carries_the_spinner_and_hidden_rows() -> None:
    line = rule(40, "thinkingHigh", busy_text("⠋", "Working"), more(3, above=True))
    assert line_text(line) == "── ⠋ Working " + "─" * 15 + " ↑ 3 more ──"
    assert line_text(rule(5, "dim")) == "─────"
    assert more(0, above=False) == ""


# ------------------------------------------------------------------------------------------------------------ all of it


@pytest.mark.parametrize("width", [1, 2, 5, 20])
def test_every_block_fits_a_narrow_screen_and_drives_nothing(width: int) -> None:
    frame = Frame(width, expanded=True)
    view = FooterView(EVIL, EVIL, EVIL, 10**6, 5, model=EVIL, provider=EVIL, providers=2, context_window=1000)
    blocks = [
        user_lines(EVIL, frame),
        assistant_lines(EVIL, frame),
        thinking_lines(EVIL, frame),
        custom_lines(EVIL, EVIL, frame),
        compaction_lines(EVIL, 5, frame),
        bash_lines(BashView(EVIL, EVIL * 9, exit_code=1, full_output_path=EVIL), frame),
        status_lines(EVIL, frame),
        section_lines(EVIL, [EVIL], frame),
        queue_lines([EVIL], [EVIL], frame),
        footer_lines(view, width, {"k": EVIL}),
        header_lines(HeaderView("piolet", "1", [("a", "b")], [("a", "b", "c")]), frame),
        [rule(width, "dim", busy_text("x", EVIL), more(5, above=True))],
    ]
    for number, lines in enumerate(blocks):
        assert all(line_width(line) <= width for line in lines), number
        assert not any(char in line_text(line) for line in lines for char in "\x1b\x07\u202e")
