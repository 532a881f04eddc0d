from __future__ import annotations

from piolet.tui.picture_drawing import Sheet, Stripes
from piolet.tui.picture_painter import SheetPainter, Stretch, StripePainter, stretches, with_pictures
from piolet.tui.spans import PictureRow
from tests.support.graphics import KittyTerminal, picture

SHEET = Sheet(picture(90, 180), 90, 180)
STRIPES = Stripes([f"<{n}>" for n in range(10)])


def rows(y: int, x: int = 1, first: int = 0, count: int = 10, number: int = 7) -> dict[int, tuple[int, PictureRow]]:
    return {y + at: (x, PictureRow(number, 10, 10, first + at)) for at in range(count)}


class Screen:
    """A terminal and what a painter has written to it."""

    def __init__(self) -> None:
        self.painter = SheetPainter()
        self.output = ""
        self.last = ""

    def show(self, pictures: dict[int, tuple[int, PictureRow]], written: range = range(0)) -> KittyTerminal:
        self.last = self.painter.paint(pictures, lambda row: SHEET, written)
        self.output += self.last
        return KittyTerminal.of(self.output.encode())


def test_rows_below_each_other_are_one_stretch() -> None:
    pictures = rows(3, count=4) | rows(8, first=5, count=2) | rows(10, number=9)
    first = PictureRow(7, 10, 10, 0)
    assert list(stretches(pictures)) == [
        Stretch(3, 1, first, 4),
        Stretch(8, 1, first._replace(row=5), 2),
        Stretch(10, 1, first._replace(number=9), 10),
    ]
    assert [stretch.rows for stretch in stretches(rows(0), 4)] == [4, 4, 2]


def test_a_kitty_terminal_is_sent_an_image_once_and_shows_the_rows_that_are_in_sight() -> None:
    screen = Screen()
    shown = screen.show(rows(5))
    assert shown.images[7].size == (90, 180)
    at, keys = shown.shown[7, 1]
    assert at == (5, 1)
    assert [keys[name] for name in "xywhcr"] == ["0", "0", "90", "180", "10", "10"]

    shown = screen.show(rows(0, first=4, count=6))
    assert "a=t" not in screen.last
    at, keys = shown.shown[7, 1]
    assert at == (0, 1)
    assert [keys[name] for name in "xywhcr"] == ["0", "72", "90", "108", "10", "6"]

    assert screen.show({}).shown == {}
    assert 7 in screen.show({}).images
    assert screen.show(rows(2, count=3)).shown[7, 1][1]["h"] == "54"
    assert screen.output.count("a=t") == 1


def test_a_kitty_terminal_is_told_nothing_while_nothing_changes() -> None:
    screen = Screen()
    screen.show(rows(5))
    screen.show(rows(5), range(5))
    assert screen.last == ""
    screen.show(rows(5), range(14, 16))
    assert "a=p" in screen.last


def test_what_is_covered_in_the_middle_is_shown_in_two_places() -> None:
    screen = Screen()
    screen.show(rows(0))
    shown = screen.show(rows(0, count=3) | rows(6, first=6, count=4)).shown
    assert {key: (value[0], value[1]["r"]) for key, value in shown.items()} == {
        (7, 1): ((0, 1), "3"),
        (7, 2): ((6, 1), "4"),
    }
    assert list(screen.show(rows(0)).shown) == [(7, 1)]


def test_a_picture_drawn_anew_is_sent_again() -> None:
    screen = Screen()
    screen.show(rows(0))
    larger = Sheet(picture(180, 360), 180, 360)
    screen.output += screen.painter.paint(rows(0), lambda row: larger, ())
    shown = KittyTerminal.of(screen.output.encode())
    assert shown.images[7].size == (180, 360)
    assert shown.shown[7, 1][1]["h"] == "360"


def test_pictures_that_are_gone_are_freed() -> None:
    screen = Screen()
    screen.show(rows(0) | rows(10, number=8))
    screen.output += screen.painter.forget(lambda number: number == 8)
    shown = KittyTerminal.of(screen.output.encode())
    assert list(shown.images) == [8]
    assert list(shown.shown) == [(8, 1)]
    assert screen.painter.forget(lambda number: number == 8) == ""
    assert KittyTerminal.of((screen.output + screen.painter.forget(lambda number: False)).encode()).images == {}


def test_a_picture_without_a_drawing_is_left_out() -> None:
    assert SheetPainter().paint(rows(0), lambda row: None, range(99)) == ""
    assert StripePainter().paint(rows(0), lambda row: None, range(99)) == ""


def test_stripes_are_drawn_where_they_are_new_or_were_written_over() -> None:
    painter = StripePainter()
    whole = painter.paint(rows(0, x=2), lambda row: STRIPES, ())
    assert whole == "".join(f"\x1b[{n + 1};3H<{n}>" for n in range(10))
    assert painter.paint(rows(0, x=2), lambda row: STRIPES, ()) == ""
    assert painter.paint(rows(0, x=2), lambda row: STRIPES, {4, 20}) == "\x1b[5;3H<4>"
    moved = painter.paint(rows(0, x=2, first=8, count=2), lambda row: STRIPES, ())
    assert moved == "\x1b[1;3H<8>\x1b[2;3H<9>"
    assert painter.paint({}, lambda row: STRIPES, ()) == ""
    assert painter.paint(rows(0, x=2, count=1), lambda row: STRIPES, ()) == "\x1b[1;3H<0>"


def test_in_scrollback_pictures_are_drawn_over_their_rows_in_pieces_that_fit_the_screen() -> None:
    lines = [f"line {n}" for n in range(12)]
    text = with_pictures(lines, rows(1), lambda row: SHEET, 5)
    shown = KittyTerminal.of(text.encode())
    assert [(keys["y"], keys["h"], keys["r"]) for _, keys in shown.shown.values()] == [
        ("0", "72", "4"),
        ("72", "72", "4"),
        ("144", "36", "2"),
    ]
    assert 7 not in shown.images  # the same picture may go there again
    assert text.count("a=t") == 1
    assert text.index("line 4\n\x1b_Ga=t") < text.index("\x1b[4A\r\x1b[1C\x1b_Ga=p") < text.index("line 5")


def test_in_scrollback_stripes_are_drawn_below_the_line_they_belong_to() -> None:
    text = with_pictures(["a", "b"], rows(0, x=0, count=2), lambda row: STRIPES, 20)
    assert text == "a\n\x1b7\x1b[1A\r<0>\x1b8b\n\x1b7\x1b[1A\r<1>\x1b8"
    assert with_pictures(["a", "b"], {}, lambda row: STRIPES, 20) == "a\nb\n"
    assert with_pictures(["a"], rows(0, count=1), lambda row: None, 20) == "a\n"
