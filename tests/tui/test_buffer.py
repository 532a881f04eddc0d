from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.buffer import Buffer
from piolet.tui.text import graphemes

FAMILY = "👨‍👩‍👧"


def typed(text: str) -> Buffer:
    buffer = Buffer()
    for char in graphemes(text):
        buffer.insert(char)
    return buffer


# ------------------------------------------------------------------------------------------------------------ cursor


def test_arrows_pass_over_whole_clusters() -> None:
    buffer = Buffer(f"a{FAMILY}e\u0301\n中")
    places = [buffer.cursor]
    while buffer.cursor:
        buffer.move_left()
        places.append(buffer.cursor)
    assert places == [10, 9, 8, 6, 1, 0]
    forward = [buffer.cursor]
    while buffer.cursor < len(buffer.text):
        buffer.move_right()
        forward.append(buffer.cursor)
    assert forward == places[::-1]


def test_word_motions_stop_at_words_signs_and_lines() -> None:
    buffer = Buffer("foo.bar  baz\n e\u0301t qux")
    stops = []
    while buffer.cursor:
        buffer.move_word_left()
        stops.append(buffer.cursor)
    assert stops == [18, 14, 13, 12, 9, 4, 3, 0]
    stops = []
    while buffer.cursor < len(buffer.text):
        buffer.move_word_right()
        stops.append(buffer.cursor)
    assert stops == [3, 4, 7, 12, 13, 17, 21]


def test_lines_have_a_start_and_an_end() -> None:
    buffer = Buffer("one\ntwo\nthree")
    buffer.move_to(5)
    buffer.move_line_start()
    assert buffer.cursor == 4
    buffer.move_line_end()
    assert buffer.cursor == 7


def test_vertical_motion_keeps_its_column_over_short_rows() -> None:
    buffer = Buffer("a long line\nx\nanother long line")
    buffer.move_to(8)
    for offset in (13, 22):
        assert buffer.move_rows(1, 40)
        assert buffer.cursor == offset
    assert not buffer.move_rows(1, 40)
    buffer.move_left()
    buffer.move_rows(-2, 40)
    assert buffer.cursor == 7


def test_vertical_motion_follows_wrapped_rows_and_wide_cells() -> None:
    buffer = Buffer("hello big world")
    buffer.move_to(2)
    buffer.move_rows(1, 6)
    assert buffer.cursor == 8
    buffer.move_rows(1, 6)
    assert buffer.cursor == 12
    wide = Buffer("中文字\nabcdef")
    wide.move_rows(-1, 20)
    assert wide.cursor == 3
    wide.move_to(7)
    wide.move_rows(-1, 20)
    assert wide.cursor == 1


def test_a_cursor_at_a_soft_break_is_in_the_next_row() -> None:
    buffer = Buffer("hello world")
    layout = buffer.layout(6)
    assert layout.rows == [(0, 6), (6, 11)]
    assert (layout.row_of(6), layout.column_of(6)) == (1, 0)
    assert layout.offset_at(0, 99) == 5


def test_jumping_finds_the_next_character_over_lines() -> None:
    buffer = Buffer("abc\nabc")
    buffer.move_to(0)
    assert buffer.jump("a")
    assert buffer.cursor == 4
    assert buffer.jump("b", backward=True)
    assert buffer.cursor == 1
    assert not buffer.jump("z")
    assert buffer.cursor == 1


# ------------------------------------------------------------------------------------------------------- undo, kills


def undo_all(buffer: Buffer) -> list[str]:
    steps = [buffer.text]
    for _ in range(50):
        buffer.undo()
        if buffer.text == steps[-1]:
            break
        steps.append(buffer.text)
    return steps


def test_undo_goes_back_a_word_at_a_time() -> None:
    assert undo_all(typed("one two  x")) == ["one two  x", "one two ", "one two", "one", ""]


def test_a_motion_begins_a_new_step() -> None:
    buffer = typed("ab")
    buffer.move_left()
    buffer.insert("x")
    assert undo_all(buffer) == ["axb", "ab", ""]


def test_each_deletion_paste_and_replacement_is_one_step() -> None:
    buffer = typed("abc")
    buffer.delete_backward()
    buffer.delete_backward()
    buffer.paste("p q\nr")
    buffer.set_text("new text")
    buffer.set_text("new text")
    assert undo_all(buffer) == ["new text", "ap q\nr", "a", "ab", "abc", ""]


def test_undo_brings_the_cursor_back() -> None:
    buffer = Buffer("one two")
    buffer.move_to(3)
    buffer.kill_to_line_end()
    buffer.undo()
    assert (buffer.text, buffer.cursor) == ("one two", 3)


def test_consecutive_kills_merge_in_the_order_of_the_text() -> None:
    buffer = Buffer("one two three four")
    buffer.kill_word_backward()
    buffer.kill_word_backward()
    buffer.move_to(0)
    buffer.yank()
    assert buffer.text == "three fourone two "
    buffer.move_to(len(buffer.text))
    buffer.move_to(0)
    buffer.kill_word_forward()
    buffer.kill_word_forward()
    buffer.yank()
    assert buffer.text == "three fourone two "


def test_a_motion_parts_kills_and_yank_pop_rotates_through_them() -> None:
    buffer = Buffer("a b c")
    for _ in range(3):
        buffer.kill_word_backward()
        buffer.move_line_start()
        buffer.move_line_end()
    assert buffer.text == ""
    buffer.yank()
    assert buffer.text == "a "
    buffer.yank_pop()
    assert buffer.text == "b "
    buffer.yank_pop()
    assert buffer.text == "c"
    buffer.yank_pop()
    assert buffer.text == "a "
    buffer.insert("x")
    buffer.yank_pop()
    assert buffer.text == "a x"


def test_killing_at_the_edge_of_a_line_takes_its_line_feed() -> None:
    buffer = Buffer("ab\ncd")
    buffer.move_to(2)
    buffer.kill_to_line_end()
    assert buffer.text == "abcd"
    buffer = Buffer("ab\ncd")
    buffer.move_to(3)
    buffer.kill_to_line_start()
    assert buffer.text == "abcd"
    buffer.kill_to_line_start()
    assert buffer.text == "cd"
    buffer.kill_to_line_start()
    assert buffer.text == "cd"


def test_deleting_takes_a_cluster() -> None:
    buffer = Buffer(f"a{FAMILY}")
    buffer.delete_backward()
    assert buffer.text == "a"
    buffer.delete_forward()
    assert buffer.text == "a"
    buffer.move_to(0)
    buffer.delete_forward()
    assert buffer.text == ""


# ------------------------------------------------------------------------------------------------------------- paste


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        ("a\r\nb\tc\x1b[31md\x00e", "a\nb\tcde"),
        ("a\rb", "a\nb"),
        ("x\u202ey\ud800", "x\u202ey\ufffd"),
        ("\U00100000", "\ufffd"),
    ],
)
def test_a_paste_keeps_text_and_tabs_and_nothing_that_acts(pasted: str, kept: str) -> None:
    buffer = Buffer()
    buffer.paste(pasted)
    assert buffer.value == kept


def test_a_large_paste_is_one_cell_group_and_expands_when_sent() -> None:
    lines, long = "\n".join(map(str, range(30))), "x" * 1234
    buffer = Buffer("see ")
    buffer.paste(lines)
    buffer.insert(" ")
    buffer.paste(long)
    assert len(buffer.text) == 7
    assert buffer.layout(80).drawn(0) == "see [paste #1 +30 lines] [paste #2 1234 chars]"
    assert buffer.value == f"see {lines} {long}"
    buffer.move_left()
    buffer.move_left()
    buffer.delete_backward()
    assert buffer.value == f"see  {long}"
    buffer.undo()
    assert buffer.submit() == f"see {lines} {long}"
    assert buffer.text == ""


def test_ten_lines_or_a_thousand_characters_stay_text() -> None:
    buffer = Buffer()
    buffer.paste("\n".join("ab" * 5))
    buffer.paste("y" * 1000)
    assert buffer.text == "\n".join("ab" * 5) + "y" * 1000


def test_a_typed_look_alike_of_a_marker_is_plain_text() -> None:
    buffer = Buffer()
    buffer.paste("z\n" * 20)
    buffer.insert("[paste #1 +21 lines]")
    assert buffer.value == "z\n" * 20 + "[paste #1 +21 lines]"
    buffer.delete_backward()
    assert buffer.value.endswith("[paste #1 +21 lines")


def test_a_marker_comes_back_from_history_and_kill_ring() -> None:
    buffer = Buffer()
    buffer.paste("z\n" * 20)
    buffer.submit()
    buffer.up(40)
    assert buffer.value == "z\n" * 20
    buffer.kill_to_line_end()
    assert buffer.value == ""
    buffer.yank()
    assert buffer.value == "z\n" * 20


def test_a_path_pasted_behind_a_word_gets_a_blank() -> None:
    for path in ("/tmp/a.png", "~/x", "./y"):
        buffer = Buffer("look")
        buffer.paste(path)
        assert buffer.text == f"look {path}"
    buffer = Buffer("look ")
    buffer.paste("/tmp/a.png")
    assert buffer.text == "look /tmp/a.png"


def test_a_paste_of_a_hundred_thousand_lines_is_quick_and_typing_after_it_too() -> None:
    text = "\n".join(f"line {n}" for n in range(100_000))
    start = time.process_time()
    buffer = Buffer()
    buffer.paste(text)
    for _ in range(100):
        buffer.insert("x")
        buffer.layout(80)
    assert time.process_time() - start < 1
    assert buffer.value == text + "x" * 100


# ----------------------------------------------------------------------------------------------------------- history


def test_up_browses_history_from_the_first_column_and_down_restores_the_draft() -> None:
    buffer = Buffer("draft", history=["first", "second", "second", "two\nlines"])
    buffer.up(40)
    assert (buffer.text, buffer.cursor) == ("draft", 0)
    shown = []
    for _ in range(4):
        buffer.up(40)
        shown.append(buffer.text)
    assert shown == ["two\nlines", "second", "first", "first"]
    for expected in ("second", "two\nlines", "draft", "draft"):
        buffer.down(40)
        assert buffer.text == expected
    assert buffer.cursor == 5


def test_rows_of_a_browsed_prompt_are_walked_before_the_next_one() -> None:
    buffer = Buffer(history=["old", "two\nlines"])
    buffer.up(40)
    buffer.down(40)
    assert (buffer.text, buffer.cursor) == ("two\nlines", 4)
    buffer.up(40)
    assert (buffer.text, buffer.cursor) == ("two\nlines", 0)
    buffer.up(40)
    assert buffer.text == "old"


def test_a_change_makes_the_browsed_prompt_the_draft() -> None:
    buffer = Buffer("draft", history=["old"])
    buffer.history_older()
    buffer.move_line_end()
    buffer.insert("er")
    buffer.down(40)
    assert buffer.text == "older"
    buffer.history_older()
    buffer.history_newer()
    assert buffer.text == "older"


def test_history_keeps_the_last_hundred_that_differ_from_their_predecessor() -> None:
    buffer = Buffer(history=[*map(str, range(150)), "149", " "])
    seen = 0
    while True:
        before = buffer.text
        buffer.history_older()
        if buffer.text == before:
            break
        seen += 1
    assert (seen, buffer.text) == (100, "50")


# -------------------------------------------------------------------------------------------------------------- rest


def test_backslash_and_enter_are_a_line_feed() -> None:
    buffer = Buffer("a\\")
    assert buffer.newline_after_backslash()
    assert buffer.text == "a\n"
    assert not buffer.newline_after_backslash()


def test_a_completion_replaces_what_was_typed_in_one_step() -> None:
    buffer = typed("see @sr x")
    buffer.move_to(7)
    buffer.replace_before(3, "@src/main.py ")
    assert (buffer.text, buffer.cursor) == ("see @src/main.py  x", 17)
    buffer.undo()
    assert (buffer.text, buffer.cursor) == ("see @sr x", 7)


def test_tabs_are_drawn_up_to_the_next_fourth_column() -> None:
    buffer = Buffer("\ta\tbcde\tf")
    layout = buffer.layout(40)
    assert layout.drawn(0) == "    a   bcde    f"
    assert [layout.column_of(n) for n in range(9)] == [0, 4, 5, 8, 9, 10, 11, 12, 16]


MOVES = [
    "delete_backward", "delete_forward", "kill_word_backward", "kill_word_forward", "kill_to_line_start",
    "kill_to_line_end", "yank", "yank_pop", "undo", "move_left", "move_right", "move_word_left", "move_word_right",
    "move_line_start", "move_line_end", "history_older", "history_newer", "newline_after_backslash",
]  # fmt: skip
steps = st.lists(
    st.one_of(
        st.sampled_from(MOVES),
        st.tuples(st.sampled_from(["insert", "paste", "set_text"]), st.text("a b中\n\t\\é😀\u0301\u200d", max_size=6)),
        st.tuples(st.just("paste"), st.just("p\n" * 12)),
        st.tuples(st.sampled_from(["up", "down"]), st.integers(1, 12)),
    ),
    max_size=25,
)


@given(steps, st.integers(1, 14))
def test_any_keys_leave_a_cursor_on_a_boundary_and_rows_that_cover_the_text(
    keys: list[str | tuple[str, str | int]], width: int
) -> None:
    buffer = Buffer("start", history=["h1", "h2\nx"])
    for step in keys:
        before = buffer.text, buffer.cursor
        if isinstance(step, str):
            getattr(buffer, step)()
        else:
            getattr(buffer, step[0])(step[1])
        layout = buffer.layout(width)
        assert 0 <= buffer.cursor <= len(buffer.text)
        line = buffer.text[buffer.text.rfind("\n", 0, buffer.cursor) + 1 :].split("\n")[0]
        edges, at = {0}, 0
        for cluster in graphemes(line):
            at += len(cluster)
            edges.add(at)
        column = buffer.cursor - buffer.text.rfind("\n", 0, buffer.cursor) - 1
        inserted = isinstance(step, tuple) or step in ("delete_backward", "delete_forward", "yank", "yank_pop", "undo")
        stayed = (buffer.text, buffer.cursor) == before  # what an edit made of the clusters around it is left
        assert column in edges or inserted or stayed or "kill" in step
        pieces = [buffer.text[start:end] for start, end in layout.rows]
        assert "".join(pieces) == buffer.text.replace("\n", "")
        row = layout.row_of(buffer.cursor)
        place = layout.column_of(buffer.cursor)
        assert layout.column_of(layout.offset_at(row, place)) <= place
        for number in range(len(layout.rows)):
            layout.drawn(number)
