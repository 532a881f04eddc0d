from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

from piolet.tui.ansi import AnsiWriter
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock
from piolet.tui.blocks.messages import skill_lines, user_lines
from piolet.tui.pictures import Picture, PictureRoom
from piolet.tui.scrollback import Scrollback
from piolet.tui.spans import Line, line_text, picture_in, row
from piolet.tui.transcript import Transcript, TranscriptBlock
from tests.support.graphics import picture

FRAME = Frame(40, pictures=PictureRoom(10))
LINE = "[image: image/png 2x2]"


def texts(lines: list[Line]) -> list[str]:
    return [line_text(line).strip() for line in lines]


def numbered(count: int) -> Transcript:
    transcript = Transcript(FRAME, 20)
    for number in range(count):
        transcript.add(DrawnBlock(lambda frame, number=number: [row(f"block {number}")]))
    return transcript


def with_picture() -> tuple[Transcript, TranscriptBlock]:
    transcript = numbered(1)
    shown = Picture(b64encode(picture(2, 2)).decode(), "image/png")
    block = DrawnBlock(lambda frame: user_lines("look", frame, [shown]), pictures=[shown])
    transcript.add(block)
    transcript.add(DrawnBlock(lambda frame: [row("after")]))
    return transcript, block


def test_what_waits_for_its_pictures_keeps_the_order_and_is_told_by_a_line_meanwhile() -> None:
    transcript, block = with_picture()
    scrollback = Scrollback()
    assert texts(scrollback.take(transcript, lambda _: True, lambda other: other is not block)) == ["block 0"]
    assert texts(scrollback.live(transcript, 50)) == ["", "", "look", "", LINE, "", "", "after"]
    printed = scrollback.take(transcript, lambda _: True)
    assert texts(printed) == ["", "", "look", "", *[""] * 5, "", "", "after"]
    assert [at[1].row for line in printed if (at := picture_in(line)) is not None] == [0, 1, 2, 3, 4]
    assert scrollback.live(transcript, 50) == []
    assert scrollback.take(transcript, lambda _: True) == []


def test_parts_that_are_not_shown_wait_for_nothing() -> None:
    transcript = numbered(305)
    asked: list[TranscriptBlock] = []
    lines = Scrollback().take(transcript, lambda _: True, lambda block: not asked.append(block))
    assert texts(lines)[0] == "(5 earlier parts of the session are not shown)"
    assert asked == transcript.blocks[5:]
    assert texts(lines)[2::2] == [f"block {number}" for number in range(5, 305)]


def test_of_much_that_is_not_printed_only_the_end_is_drawn() -> None:
    transcript = numbered(2000)
    drawn = Scrollback().live(transcript, 20)
    assert texts(drawn)[-3:] == ["block 1998", "", "block 1999"]
    assert 20 <= len(drawn) <= 40
    assert texts(Scrollback().live(numbered(2), 20)) == ["block 0", "", "block 1"]


def test_what_is_unfolded_later_has_lines_in_place_of_pictures() -> None:
    transcript, _ = with_picture()
    transcript.add(DrawnBlock(lambda frame: skill_lines("pdf", "body", frame)))
    scrollback = Scrollback()
    scrollback.take(transcript, lambda _: True)
    transcript.resize(replace(FRAME, expanded=True), 20)
    lines = scrollback.unfolded(transcript, FRAME, 50)
    assert "body" in texts(lines)
    assert "look" not in texts(lines)


def test_a_prompt_is_marked_once_however_often_it_is_drawn() -> None:
    transcript, scrollback = Transcript(Frame(80), 24), Scrollback()
    prompt = DrawnBlock(lambda frame: [row("why"), row("so")], is_prompt=True)
    for block in (DrawnBlock(lambda frame: [row("head")]), prompt, DrawnBlock(lambda frame: [row("answer")])):
        transcript.add(block)
    assert "\x1b" not in "".join(AnsiWriter({}).lines(scrollback.live(transcript, 50)))
    lines = AnsiWriter({}).lines(scrollback.take(transcript, lambda block: True))
    assert lines == ["head", "", "\x1b]133;A\x1b\\why", "so\x1b]133;B\x1b\\\x1b]133;C\x1b\\", "", "answer"]
    transcript.resize(Frame(40), 24)
    assert scrollback.take(transcript, lambda block: True) == []
