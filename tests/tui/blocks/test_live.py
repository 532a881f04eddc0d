from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import GrowingMarkdown
from piolet.tui.spans import Line, line_text
from tests.tui.test_markdown_stream import PARTS


def texts(lines: list[Line]) -> list[str]:
    return [line_text(line).rstrip() for line in lines]


@given(st.lists(st.sampled_from(PARTS), max_size=7), st.integers(1, 30), st.integers(8, 50), st.booleans())
def test_what_is_settled_and_the_rest_are_the_whole(parts: list[str], size: int, width: int, end: bool) -> None:
    text, frame = "".join(parts), Frame(width)
    block, settled = GrowingMarkdown(), list[Line]()
    for at in range(0, len(text), size):
        block.append(text[at : at + size])
        settled += block.settle(frame)
        assert texts([*settled, *block.rest(frame)]) == texts(list(block.lines(frame)))
    if end:
        block.finish(text)
    assert texts([*settled, *block.rest(frame)]) == texts(list(block.lines(frame)))


def test_before_diagrams_are_drawn_at_the_end_nothing_below_is_settled() -> None:
    block, frame = GrowingMarkdown(), Frame(40, mermaid="final")
    block.append("one\n\n")
    block.append("two\n\n```mermaid\ngraph TD\na\n```\n\nthree\n\nfour")
    assert block.settle(frame) == ()
    block.finish()
    assert texts(list(block.rest(frame)))[4:7] == [" ┌───┐", " │ a │", " └───┘"]


def test_after_a_resize_only_what_was_not_settled_is_drawn_in_the_new_width() -> None:
    block = GrowingMarkdown()
    block.append("one two three four\n\nfive six seven eight\n")
    assert texts(list(block.settle(Frame(12)))) == [" one two", " three four"]
    assert texts(list(block.rest(Frame(40)))) == ["", " five six seven eight"]
    block.finish()
    assert texts(list(block.rest(Frame(12)))) == ["", " five six", " seven", " eight"]
    assert texts(list(block.lines(Frame(40)))) == [" one two three four", "", " five six seven eight"]
