from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.completion import Request, Suggestion
from piolet.tui.editor import Editor
from piolet.tui.keymap import DEFAULT_KEYS, Keymap
from piolet.tui.keys import Key, press
from piolet.tui.spans import Span, Style, line_text, line_width

CURSOR = Style(reverse=True)


def keys(editor: Editor, *names: str) -> list[str]:
    return [editor.handle(press(name)) for name in names]


def write(editor: Editor, text: str) -> None:
    for char in text:
        editor.handle(press("space" if char == " " else char))


def offer(editor: Editor, *texts: str, goes_on: bool = False) -> None:
    assert editor.wanted is not None
    editor.offer(editor.wanted, [Suggestion(text, text.strip(), goes_on=goes_on) for text in texts])


def test_keys_type_move_and_delete() -> None:
    editor = Editor()
    write(editor, "Hello wrld")
    keys(editor, "alt+left", "right", "o", "end", "backspace", "ctrl+a", "delete")
    assert editor.buffer.text == "ello worl"
    assert keys(editor, "ctrl+-", "ctrl+z", "f5") == ["done", "ignored", "ignored"]


def test_enter_sends_and_its_variants_begin_a_line() -> None:
    editor = Editor()
    write(editor, "a")
    keys(editor, "shift+enter")
    write(editor, "b\\")
    assert keys(editor, "enter") == ["done"]
    keys(editor, "ctrl+j")
    assert editor.buffer.text == "a\nb\n\n"
    assert keys(editor, "enter") == ["submit"]
    assert editor.take() == "a\nb\n\n"
    assert editor.buffer.text == ""


def test_a_user_can_choose_the_keys() -> None:
    editor = Editor(Keymap({**DEFAULT_KEYS, "tui.input.submit": ("ctrl+enter",), "tui.input.newLine": ("enter",)}))
    assert keys(editor, "x", "enter", "ctrl+enter") == ["done", "done", "submit"]
    assert editor.buffer.text == "x\n"


def test_shortcuts_and_releases_type_nothing() -> None:
    editor = Editor()
    assert editor.handle(Key("super+a", "a")) == "ignored"
    assert editor.handle(Key("a", "a", "release")) == "ignored"
    assert editor.handle(Key("a", "a", "repeat")) == "done"
    assert editor.buffer.text == "a"


def test_up_and_down_follow_the_rows_that_are_drawn() -> None:
    editor = Editor(history=["older"])
    write(editor, "hello big world")
    editor.view(7, 5)
    keys(editor, "up")
    assert editor.buffer.cursor < 12
    keys(editor, "up", "up", "up")
    assert editor.buffer.text == "older"
    keys(editor, "down")
    assert editor.buffer.text == "hello big world"


def test_a_jump_takes_the_next_character_and_any_other_key_cancels_it() -> None:
    editor = Editor()
    write(editor, "abcabc")
    keys(editor, "home", "ctrl+]", "c")
    assert editor.buffer.cursor == 2
    keys(editor, "end", "ctrl+alt+]", "b")
    assert editor.buffer.cursor == 4
    keys(editor, "ctrl+]", "home", "x")
    assert editor.buffer.text == "xabcabc"


LINES = "\n".join("abcdefghijkl")
#: Of each action: the text, the keys before, the keys behind, and the text when "|" was typed at last.
ACTIONS: dict[str, tuple[str, list[str], list[str], str]] = {
    "cursorUp": ("one\ntwo", [], [], "one|\ntwo"),
    "cursorDown": ("one\ntwo", ["up"], [], "one\ntwo|"),
    "cursorLeft": ("ab", [], [], "a|b"),
    "cursorRight": ("ab", ["home"], [], "a|b"),
    "cursorWordLeft": ("one two", [], [], "one |two"),
    "cursorWordRight": ("one two", ["home"], [], "one| two"),
    "cursorLineStart": ("one\nab", [], [], "one\n|ab"),
    "cursorLineEnd": ("ab\ntwo", ["up", "home"], [], "ab|\ntwo"),
    "jumpForward": ("abcb", ["home"], ["b"], "a|bcb"),
    "jumpBackward": ("abcb", ["end"], ["a"], "|abcb"),
    "pageUp": (LINES, [], [], LINES.replace("g", "g|")),
    "pageDown": (LINES, ["up"] * 11, [], LINES.replace("f", "f|")),
    "deleteCharBackward": ("ab", [], [], "a|"),
    "deleteCharForward": ("ab", ["home"], [], "|b"),
    "deleteWordBackward": ("one two", [], [], "one |"),
    "deleteWordForward": ("one two", ["home"], [], "| two"),
    "deleteToLineStart": ("ab\ncd", [], [], "ab\n|"),
    "deleteToLineEnd": ("ab", ["home", "right"], [], "a|"),
    "yank": ("ab", ["ctrl+u"], [], "ab|"),
    "yankPop": ("ab", ["ctrl+u", "c", "ctrl+u", "ctrl+y"], [], "ab|"),
    "undo": ("ab", [], [], "|"),
    "historyPrevious": ("", [], [], "|older"),
    "historyNext": ("draft", ["up", "up"], [], "draft|"),
}


@pytest.mark.parametrize(
    ("action", "key"),
    [
        (name.removeprefix("tui.editor."), key)
        for name, bound in DEFAULT_KEYS.items()
        for key in bound or ["f5"]
        if name.startswith("tui.editor.")
    ],
)
def test_every_key_of_the_editor_does_what_it_is_for(action: str, key: str) -> None:
    text, before, after, expected = ACTIONS[action]
    editor = Editor(Keymap({**DEFAULT_KEYS, f"tui.editor.{action}": (key,)}), history=["older"])
    for char in text:
        editor.handle(press("ctrl+j" if char == "\n" else "space" if char == " " else char))
    editor.view(20, 5)
    keys(editor, *before, key, *after, "|")
    assert editor.buffer.text == expected


# ---------------------------------------------------------------------------------------------------------- completion


def test_what_is_wanted_follows_what_is_typed() -> None:
    editor = Editor()
    write(editor, "/mo")
    assert editor.wanted == Request("command", "/mo", "mo")
    keys(editor, "backspace", "backspace", "backspace")
    assert editor.wanted is None
    write(editor, "see @a")
    assert editor.wanted == Request("mention", "@a", "a")
    keys(editor, "left")
    assert editor.wanted is None
    keys(editor, "end", "enter", "shift+enter")
    write(editor, "/mo")
    assert editor.wanted == Request("path", "/mo", "/mo")


def test_suggestions_that_come_too_late_are_dropped() -> None:
    editor = Editor()
    write(editor, "/m")
    late = editor.wanted
    write(editor, "o")
    assert late is not None
    editor.offer(late, [Suggestion("/x", "x")])
    assert editor.menu is None


def test_tab_takes_a_suggestion_and_enter_sends_a_command_too() -> None:
    editor = Editor()
    write(editor, "/mo")
    offer(editor, "/mock ", "/model ")
    assert [line_text(line).strip() for line in editor.menu_lines(30)] == ["→ /mock", "/model"]
    keys(editor, "down", "tab")
    assert editor.buffer.text == "/model "
    assert editor.menu is None
    keys(editor, "ctrl+u")
    write(editor, "/mo")
    offer(editor, "/mock ")
    assert keys(editor, "enter") == ["submit"]
    assert editor.take() == "/mock "


def test_enter_right_after_typing_takes_nothing_from_the_list_of_before() -> None:
    editor = Editor()
    write(editor, "/")
    offer(editor, "/settings ", "/hotkeys ")
    write(editor, "hot")
    assert keys(editor, "enter") == ["submit"]
    assert editor.buffer.text == "/hot"


def test_enter_takes_a_command_that_was_begun_or_chosen_and_no_other() -> None:
    editor = Editor()
    for typed, keys_then, sent in (
        ("/ex", (), "/export "),
        ("/EX", (), "/export "),
        ("/xp", (), "/xp"),
        ("/xp", ("down", "up"), "/export "),
    ):
        write(editor, typed)
        offer(editor, "/export ", "/other ")
        assert keys(editor, *keys_then, "enter")[-1] == "submit"
        assert editor.take() == sent
    write(editor, "/wa")
    offer(editor, "/skill:wave ")
    keys(editor, "enter")
    assert editor.take() == "/skill:wave "


def test_enter_behind_a_whole_argument_sends() -> None:
    editor = Editor()
    write(editor, "/thinking hi")
    offer(editor, "high")
    assert keys(editor, "enter") == ["done"]
    assert editor.buffer.text == "/thinking high"
    write(editor, "x")
    keys(editor, "backspace")
    offer(editor, "high")
    assert keys(editor, "enter") == ["submit"]


def test_enter_takes_a_mention_without_sending() -> None:
    editor = Editor()
    write(editor, "see @ma")
    offer(editor, "@main.py ", "@make ")
    assert keys(editor, "up", "up", "enter") == ["done"] * 3
    assert editor.buffer.text == "see @main.py "


def test_a_folder_goes_on_to_what_stands_in_it() -> None:
    editor = Editor()
    write(editor, "@sr")
    offer(editor, "@src/", goes_on=True)
    keys(editor, "tab")
    assert editor.wanted == Request("mention", "@src/", "src/")


def test_escape_closes_the_list_and_typing_goes_on() -> None:
    editor = Editor()
    write(editor, "/mo")
    offer(editor, "/model ")
    assert keys(editor, "escape") == ["done"]
    assert editor.menu is None
    assert keys(editor, "escape") == ["ignored"]
    write(editor, "d")
    assert editor.buffer.text == "/mod"


def test_a_single_path_that_tab_asked_for_is_taken_at_once() -> None:
    editor = Editor()
    write(editor, "see sr")
    keys(editor, "tab")
    assert editor.wanted == Request("path", "sr", "sr")
    offer(editor, "src/", goes_on=True)
    assert editor.buffer.text == "see src/"
    keys(editor, "tab")
    offer(editor, "src/a", "src/b")
    assert editor.buffer.text == "see src/"
    assert editor.menu is not None


# ---------------------------------------------------------------------------------------------------------------- view


def test_the_cursor_is_a_reversed_cell() -> None:
    editor = Editor()
    assert editor.view(10, 5).lines == [(Span(" ", CURSOR),)]
    write(editor, "abc")
    keys(editor, "left")
    assert editor.view(10, 5).lines == [(Span("ab"), Span("c", CURSOR))]
    assert editor.view(10, 5).cursor == (2, 0)


def test_the_cursor_on_a_tab_is_one_cell_wide() -> None:
    editor = Editor()
    editor.paste("a\tb")
    keys(editor, "left", "left")
    assert editor.view(10, 5).lines == [(Span("a"), Span(" ", CURSOR), Span("  b"))]


def test_a_marker_is_drawn_as_its_label() -> None:
    editor = Editor()
    editor.paste("x\n" * 30)
    write(editor, "!")
    assert editor.view(40, 5).lines == [(Span("[paste #1 +31 lines]", Style("accent")), Span("!"), Span(" ", CURSOR))]


def test_padding_is_kept_left_and_right() -> None:
    editor = Editor(padding=2)
    write(editor, "abcdefgh")
    view = editor.view(10, 5)
    assert [line_text(line) for line in view.lines] == ["  abcde", "  fgh "]
    assert view.cursor == (5, 1)


def test_only_some_rows_are_seen_around_the_cursor() -> None:
    editor = Editor()
    editor.set_text("\n".join(map(str, range(9))))
    view = editor.view(10, 3)
    assert [line_text(line).strip() for line in view.lines] == ["6", "7", "8"]
    assert (view.above, view.below, view.cursor) == (6, 0, (1, 2))
    keys(editor, *["up"] * 4)
    view = editor.view(10, 3)
    assert [line_text(line).strip() for line in view.lines] == ["4", "5", "6"]
    assert (view.above, view.below, view.cursor[1]) == (4, 2, 0)


@given(st.text("ab 中\t\n😀e\u0301", max_size=40), st.integers(1, 12), st.integers(1, 4), st.integers(0, 3))
def test_every_view_fits_and_shows_the_cursor(text: str, width: int, rows: int, padding: int) -> None:
    editor = Editor(padding=padding)
    editor.paste(text)
    for name in ("left", "up", "home", "down", "end"):
        editor.handle(press(name))
        view = editor.view(width, rows)
        assert len(view.lines) <= rows
        assert all(line_width(line) <= max(width, 2) for line in view.lines)
        assert 0 <= view.cursor[0] < width
        assert 0 <= view.cursor[1] < len(view.lines)
        assert view.above + view.below + len(view.lines) == len(editor.buffer.layout(1).rows) or width > 1


@pytest.mark.parametrize("name", ["pageUp", "pageDown", "ctrl+pageUp"])
def test_pages_move_several_rows(name: str) -> None:
    editor = Editor()
    editor.set_text("\n" * 20)
    keys(editor, "pageUp", "pageUp")
    before = editor.buffer.cursor
    keys(editor, name)
    assert abs(editor.buffer.cursor - before) == 5
