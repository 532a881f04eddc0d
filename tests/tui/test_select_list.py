from __future__ import annotations

from piolet.tui.select_list import Item, SelectList
from piolet.tui.spans import Style, line_text, line_width


def numbers(count: int, rows: int = 5) -> SelectList[int]:
    return SelectList([Item(n, f"item {n}", f"about {n}") for n in range(count)], rows=rows)


def shown(items: SelectList[int], limit: int = 40) -> list[str]:
    return [line_text(line).rstrip() for line in items.lines(limit)]


def test_the_selected_row_is_marked_and_descriptions_stand_in_a_column() -> None:
    items = SelectList([Item(1, "a", "one"), Item(2, "long", "two", current=True)])
    assert shown(items) == ["→   a     one", "  ✓ long  two"]
    assert items.lines(40)[0][2].style == Style("accent", bold=True)


def test_the_selection_wraps_and_pages_stop() -> None:
    items = numbers(12)
    items.move(-1)
    assert items.selected == 11
    items.move(1)
    assert items.selected == 0
    items.page(1)
    assert items.selected == 5
    items.page(9)
    assert items.selected == 11


def test_a_long_list_shows_a_window_and_where_it_is() -> None:
    items = numbers(12)
    items.move(6)
    assert shown(items)[0] == "  item 4  about 4"
    assert shown(items)[2] == "→ item 6  about 6"
    assert shown(items)[-1] == "  (7/12)"
    assert len(shown(numbers(5))) == 5


def test_what_is_said_below_an_item_has_a_row_of_its_own() -> None:
    items = SelectList([Item(n, f"item {n}", below=f"about {n}") for n in range(5)], rows=4)
    items.move(-1)
    assert shown(items) == ["  item 3", "  about 3", "→ item 4", "  about 4", "  (5/5)"]
    items.page(-1)
    assert items.selected == 2


def test_an_empty_list_says_so_and_moving_does_nothing() -> None:
    items = numbers(0)
    items.move(1)
    items.page(1)
    assert items.current is None
    assert shown(items) == ["  No matches"]


def test_rows_fit_and_drive_nothing() -> None:
    items = SelectList([Item(1, "中文\x1b[2J" * 20, "d\n\x07" * 50)])
    for limit in (1, 2, 10, 50):
        for line in items.lines(limit):
            assert line_width(line) <= limit
            assert not set(line_text(line)) & set("\x1b\x07\n")
