from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piolet.tui.blocks.frame import Frame
from piolet.tui.spans import Line, line_text, row
from piolet.tui.transcript import Place, Transcript

FRAME = Frame(20)


class Lines:
    """A block of so many lines; twice as many when expanded. Counts how often it is drawn."""

    def __init__(self, name: str, count: int = 3, *, prompt: bool = False, source: str | None = None) -> None:
        self.name, self.count, self.is_prompt = name, count, prompt
        self.source = name if source is None else source
        self.drawn = 0

    def lines(self, frame: Frame) -> Sequence[Line]:
        self.drawn += 1
        return [row(f"{self.name}.{n}") for n in range(self.count * (2 if frame.expanded else 1))]


def make(*counts: int, height: int = 6) -> tuple[Transcript, list[Lines]]:
    transcript = Transcript(FRAME, height)
    blocks = [Lines(str(n), count) for n, count in enumerate(counts)]
    for block in blocks:
        transcript.add(block)
    return transcript, blocks


def seen(transcript: Transcript) -> list[str]:
    return [line_text(visible.line) for visible in transcript.visible()]


def everything(transcript: Transcript) -> list[str]:
    return [line_text(visible.line) for visible in transcript.rows_from(Place(0, 0))]


def test_blocks_are_parted_by_a_blank_line_and_empty_ones_take_no_room() -> None:
    transcript, _ = make(2, 0, 1)
    assert seen(transcript) == ["0.0", "0.1", "", "2.0"]
    assert seen(Transcript(FRAME, 5)) == []


def test_the_end_is_followed_until_the_window_is_moved() -> None:
    transcript, blocks = make(3, 3)
    assert seen(transcript) == ["0.1", "0.2", "", "1.0", "1.1", "1.2"]
    transcript.add(Lines("2", 1))
    assert seen(transcript)[-1] == "2.0"
    transcript.scroll(-1)
    assert not transcript.following
    before = seen(transcript)
    transcript.add(Lines("3", 5))
    blocks[1].count = 9
    assert seen(transcript) == before
    transcript.scroll(500)
    assert transcript.following


def test_only_what_is_seen_is_drawn() -> None:
    transcript, blocks = make(*[3] * 100)
    seen(transcript)
    assert sum(block.drawn for block in blocks) == 2
    transcript.scroll(-4)
    seen(transcript)
    assert sum(block.drawn for block in blocks) == 3
    seen(transcript)
    assert sum(block.drawn for block in blocks) == 3


def test_scrolling_is_exact_over_blocks_that_were_guessed() -> None:
    transcript, _ = make(*[1, 9, 2, 7, 1, 1, 12])
    whole = everything(transcript)
    transcript, _ = make(*[1, 9, 2, 7, 1, 1, 12])
    for top in range(len(whole) - 6, -1, -1):
        assert seen(transcript) == whole[top : top + 6]
        transcript.scroll(-1)
    transcript.to_start()
    for top in range(0, len(whole) - 5, 5):
        assert seen(transcript) == whole[top : top + 6]
        transcript.scroll(5)


def test_growth_above_does_not_move_what_is_read() -> None:
    transcript, blocks = make(3, 3, 3, 3, height=4)
    transcript.show(Place(2, 0))
    before = seen(transcript)
    blocks[0].count = 8
    transcript.changed(blocks[0])
    transcript.insert(0, Lines("new", 4))
    assert seen(transcript) == before
    transcript.remove(blocks[0])
    assert seen(transcript) == before


def test_other_blocks_are_shown_from_their_end() -> None:
    transcript, _ = make(3, 3, 3)
    transcript.to_start()
    seen(transcript)
    transcript.replace_all([Lines("x", 9)])
    assert transcript.following
    assert seen(transcript) == ["x.3", "x.4", "x.5", "x.6", "x.7", "x.8"]
    assert len(transcript.blocks) == 1


def test_a_changed_block_is_drawn_again() -> None:
    transcript, blocks = make(1)
    assert seen(transcript) == ["0.0"]
    blocks[0].name = "x"
    assert seen(transcript) == ["0.0"]
    transcript.changed(blocks[0])
    assert seen(transcript) == ["x.0"]


def test_the_end_is_shown_when_what_was_below_shrinks() -> None:
    transcript, blocks = make(3, 9, height=4)
    transcript.show(Place(1, 3))
    blocks[1].count = 1
    transcript.changed(blocks[1])
    assert seen(transcript) == ["0.1", "0.2", "", "1.0"]


def test_folding_one_block_and_all() -> None:
    transcript, blocks = make(1, 1, height=20)
    transcript.toggle(blocks[0])
    assert seen(transcript) == ["0.0", "0.1", "", "1.0"]
    transcript.resize(Frame(20, expanded=True), 20)
    assert seen(transcript) == ["0.0", "0.1", "", "1.0", "1.1"]
    transcript.toggle(blocks[0])
    assert seen(transcript) == ["0.0", "", "1.0", "1.1"]


def test_resizing_keeps_the_block_at_the_top() -> None:
    transcript, _ = make(3, 3, 3, 3, height=4)
    transcript.show(Place(1, 1))
    transcript.resize(Frame(30), 5)
    assert seen(transcript) == ["1.0", "1.1", "1.2", "", "2.0"]


def test_keys_jump_between_prompts() -> None:
    transcript = Transcript(FRAME, 3)
    for n in range(9):
        transcript.add(Lines(str(n), 2, prompt=n in (0, 4, 6)))
    tops = []
    while transcript.jump_to_prompt(-1):
        tops.append(seen(transcript)[0])
    assert tops == ["6.0", "4.0", "0.0"]
    while transcript.jump_to_prompt(1):
        tops.append(seen(transcript)[0])
    assert tops[3:] == ["4.0", "6.0"]


def test_the_thumb_tells_where_the_window_is() -> None:
    transcript, _ = make(*[9] * 10, height=10)
    everything(transcript)
    assert transcript.thumb() == (9, 1)
    transcript.to_start()
    assert transcript.thumb() == (0, 1)
    transcript.scroll(45)
    start, size = transcript.thumb() or (0, 0)
    assert 3 <= start <= 5
    assert size == 1
    assert make(3)[0].thumb() is None


@pytest.mark.parametrize("share", [0, 0.3, 0.5, 0.9, 1])
def test_dragging_the_thumb_goes_to_a_share_of_the_way(share: float) -> None:
    transcript, _ = make(*[9] * 50, height=10)
    whole = everything(transcript)
    transcript.scroll_to_share(share)
    top = whole.index(seen(transcript)[0]) if seen(transcript)[0] else whole.index(seen(transcript)[1]) - 1
    assert top == pytest.approx(share * (len(whole) - 10), abs=1)


def test_finding_draws_only_blocks_that_may_match_and_goes_around() -> None:
    transcript = Transcript(FRAME, 3)
    blocks = [Lines(str(n), 2, source="needle" if n in (3, 7) else "hay") for n in range(10)]
    for block in blocks:
        transcript.add(block)
    found = list(transcript.find(lambda text: text in ("needle", "3.1", "7.0"), Place(5, 0), 1))
    assert found == [Place(7, 1), Place(3, 2)]
    assert list(transcript.find(lambda text: text in ("needle", "3.1", "7.0"), Place(5, 0), -1)) == [
        Place(3, 2),
        Place(7, 1),
    ]
    assert [n for n, block in enumerate(blocks) if block.drawn] == [3, 7]
    transcript.reveal(Place(3, 2))
    assert seen(transcript)[1] == "3.1"


def test_finding_starts_behind_the_start_and_ends_with_it() -> None:
    transcript, _ = make(3)
    hits = list(transcript.find(lambda text: True, Place(0, 1), 1))
    assert hits == [Place(0, 2), Place(0, 0), Place(0, 1)]
    assert list(Transcript(FRAME, 3).find(lambda text: True, Place(0, 0), 1)) == []


def test_two_thousand_messages_open_and_scroll_quickly() -> None:
    transcript = Transcript(Frame(100), 40)
    start = time.process_time()
    for n in range(2000):
        transcript.add(Lines(str(n), 8, source="some text of a message\n" * 15))
    seen(transcript)
    transcript.thumb()
    assert time.process_time() - start < 0.5
    start = time.process_time()
    for _ in range(200):
        transcript.scroll(-20)
        seen(transcript)
        transcript.thumb()
    assert time.process_time() - start < 2


moves = st.lists(
    st.one_of(
        st.tuples(st.just("scroll"), st.integers(-12, 12)),
        st.tuples(st.just("add"), st.integers(0, 6)),
        st.tuples(st.just("grow"), st.integers(0, 6)),
        st.tuples(st.just("share"), st.integers(0, 10)),
        st.tuples(st.just("height"), st.integers(1, 9)),
    ),
    max_size=20,
)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), moves)
def test_the_window_is_always_a_full_part_of_the_whole(counts: list[int], steps: list[tuple[str, int]]) -> None:
    transcript, blocks = make(*counts)
    for name, number in steps:
        match name:
            case "scroll":
                transcript.scroll(number)
            case "add":
                blocks.append(Lines(str(len(blocks)), number))
                transcript.add(blocks[-1])
            case "grow":
                block = blocks[number % len(blocks)]
                block.count = number
                transcript.changed(block)
            case "share":
                transcript.scroll_to_share(number / 10)
            case "height":
                transcript.resize(FRAME, number)
        window, whole = seen(transcript), everything(transcript)
        assert len(window) == min(transcript.height, len(whole))
        tops = [at for at in range(len(whole) - len(window) + 1) if whole[at : at + len(window)] == window]
        assert tops
        assert not transcript.following or window == whole[len(whole) - len(window) :]
