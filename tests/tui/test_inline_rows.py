"""Rows at the end of a main screen, and what goes above them."""

from __future__ import annotations

import random

import pyte
import pytest

from piolet.tui.inline_rows import InlineRow, InlineRows


class Main:
    """A main screen with what has left it at the top."""

    def __init__(self, columns: int, rows: int, kind: type[pyte.HistoryScreen] = pyte.HistoryScreen) -> None:
        self.screen = kind(columns, rows, history=1000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)

    def feed(self, text: str) -> None:
        self._stream.feed(text.replace("\x1b[?2026h", "").replace("\x1b[?2026l", ""))

    @property
    def rows(self) -> list[str]:
        top = ["".join(line[x].data for x in range(self.screen.columns)).rstrip() for line in self.screen.history.top]
        rows = top + [row.rstrip() for row in self.screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def cursor(self) -> tuple[int, int]:
        return self.screen.cursor.x, self.screen.cursor.y


def rows(*texts: str) -> list[InlineRow]:
    return [InlineRow(text, len(text)) for text in texts]


def test_what_was_printed_before_stays_and_the_rows_stand_below_it() -> None:
    main, inline = Main(20, 5), InlineRows()
    main.feed("before\r\n")
    main.feed(inline.draw(rows("one", "two"), 20, (1, 1)))
    assert main.rows == ["before", "one", "two"]
    assert main.cursor == (1, 2)


def test_only_rows_that_differ_are_written_again() -> None:
    main, inline = Main(20, 5), InlineRows()
    main.feed(inline.draw(rows("one", "two", "three"), 20, (0, 2)))
    again = inline.draw(rows("one", "2", "three"), 20, (0, 2))
    main.feed(again)
    assert main.rows == ["one", "2", "three"]
    assert "one" not in again
    assert "three" not in again
    assert main.cursor == (0, 2)


def test_what_goes_above_pushes_the_rows_down_and_is_never_lost() -> None:
    main, inline = Main(20, 4), InlineRows()
    main.feed(inline.draw(rows("rule", "edit"), 20, (0, 1)))
    for number in range(6):
        inline.put_above(f"line {number}\n")
        main.feed(inline.draw(rows("rule", "edit"), 20, (3, 1)))
    assert main.rows == [*(f"line {number}" for number in range(6)), "rule", "edit"]
    assert main.cursor == (3, 3)


def test_erasing_leaves_only_what_went_above_with_the_cursor_below_it() -> None:
    main, inline = Main(20, 4), InlineRows()
    main.feed(inline.draw(rows("rule", "edit"), 20, (0, 1)))
    inline.put_above("done\n")
    main.feed(inline.erase())
    assert main.rows == ["done"]
    assert main.cursor == (0, 1)


def test_a_full_row_does_not_lose_its_last_cell() -> None:
    main, inline = Main(5, 4), InlineRows()
    main.feed(inline.draw(rows("12345", "a"), 5, (0, 1)))
    main.feed(inline.draw(rows("abcde", "b"), 5, (0, 1)))
    assert main.rows == ["abcde", "b"]


def test_what_is_wider_than_the_terminal_has_become_takes_one_row_and_nothing_above_is_erased() -> None:
    main, inline = Main(20, 6), InlineRows()
    main.feed("kept\r\n")
    main.screen.resize(6, 10)
    main.feed(inline.draw(rows("a" * 20, "b" * 12, "c"), 20, (0, 2)))
    assert main.rows == ["kept", "a" * 10, "b" * 10, "c"]
    main.feed(inline.draw(rows("new"), 10, (0, 0)))
    assert main.rows == ["kept", "new"]


def test_rows_that_the_terminal_has_changed_are_written_again() -> None:
    main, inline = Main(20, 6), InlineRows()
    main.feed(inline.draw(rows("one", "two"), 20, (0, 0)))
    main.feed("\x1b[2K")
    inline.forget()
    main.feed(inline.draw(rows("one", "two"), 20, (0, 0)))
    assert main.rows == ["one", "two"]


def test_what_goes_above_is_broken_where_it_is_too_wide() -> None:
    main, inline = Main(10, 6), InlineRows()
    inline.put_above("0123456789abc\n")
    main.feed(inline.draw(rows("a"), 20, (0, 0)))
    assert main.rows == ["0123456789", "abc", "a"]


def test_on_a_terminal_that_has_become_shorter_no_row_leaves_it_at_the_top() -> None:
    main, inline = Main(20, 6), InlineRows()
    live = rows("one", "two", "three", "four", "five")
    main.feed(inline.draw(live, 20, (0, 0)))
    main.screen.resize(3, 20)
    for number in range(4):
        inline.put_above(f"above {number}\n")
        main.feed(inline.draw(live, 20, (0, 0)))
    main.screen.resize(6, 20)
    inline.forget()
    main.feed(inline.draw(live, 20, (0, 0)))
    kept = [row for row in main.rows if row]
    assert kept == [*(f"above {number}" for number in range(4)), "one", "two", "three", "four", "five"]


class Keeping(pyte.HistoryScreen):
    """Keeps what is erased from its first cell on, as if it had left at the top."""

    def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
        if how == 0 and (self.cursor.x, self.cursor.y) == (0, 0):
            self.history.top.extend(self.buffer[y] for y in range(self.lines))
        super().erase_in_display(how, *args, **kwargs)


def test_a_terminal_that_keeps_what_is_erased_from_its_first_cell_on_keeps_nothing() -> None:
    main, inline = Main(20, 4, Keeping), InlineRows()
    for number in range(3):
        inline.put_above(f"above {number}\n")
        main.feed(inline.draw(rows("one", "two", "three", "four"), 20, (0, 0)))
    main.feed(inline.erase())
    assert main.rows == ["above 0", "above 1", "above 2"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_drawn_the_screen_shows_it_below_all_that_went_above(seed: int) -> None:
    dice = random.Random(seed)
    main, inline = Main(12, 8, Keeping), InlineRows()
    above: list[str] = []
    for step in range(60):
        for _ in range(dice.choice([0, 0, 1, 3, 9])):
            above.append(f"above {len(above)}")
            inline.put_above(above[-1] + "\n")
        live = [dice.choice(["x", "y" * 12, "z" * dice.randrange(1, 12)]) for _ in range(dice.randrange(1, 9))]
        cursor = dice.randrange(12), dice.randrange(len(live))
        main.feed(inline.draw(rows(*live), 12, cursor))
        assert main.rows == [*above, *live], f"step {step}"
        assert main.cursor[0] == cursor[0]
