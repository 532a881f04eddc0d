from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.pilot import Pilot

from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock, GrowingMarkdown
from piolet.tui.blocks.messages import assistant_lines, user_lines
from piolet.tui.spans import Line, row
from piolet.tui.widgets.transcript_view import TranscriptView
from tests.support.timing import until
from tests.tui.widgets.stage import Stage, strips


def numbered(name: str, count: int, **more: Any) -> DrawnBlock:
    def draw(frame: Frame) -> Sequence[Line]:
        return [row(f"{name}.{n}") for n in range(count * (2 if frame.expanded else 1))]

    return DrawnBlock(draw, f"{name}.0", **more)


@asynccontextmanager
async def shown(*blocks: DrawnBlock, size: tuple[int, int] = (40, 8), **options: Any) -> Any:
    view = TranscriptView(strips(), **options)
    app = Stage(lambda: [view])
    async with app.run_test(size=size) as pilot:
        for block in blocks:
            view.add(block)
        await settled(pilot)
        yield app, view, pilot


async def settled(pilot: Pilot[None]) -> None:
    await until(lambda: all(view._timer is None for view in pilot.app.query(TranscriptView)))
    await pilot.pause()


async def test_blocks_are_drawn_at_the_width_of_the_widget() -> None:
    async with shown(DrawnBlock(lambda frame: user_lines("hello", frame)), size=(20, 6)) as (app, _, _):
        assert app.text() == ["", " hello", "", "", "", ""]


async def test_the_end_is_followed_and_leaving_it_shows_how_to_return() -> None:
    async with shown(numbered("a", 5), numbered("b", 6)) as (app, view, pilot):
        assert app.text() == ["a.4", "", "b.0", "b.1", "b.2", "b.3", "b.4", "b.5"]
        view.scroll_rows(-2)
        await pilot.pause()
        text = app.text()
        assert text[0].startswith("a.2")
        assert "↓ Jump to latest message · Ctrl+End" in text[-1]
        assert text[0].endswith(("│", "┃"))
        view.add(numbered("c", 3))
        await settled(pilot)
        assert [line[:-1] for line in app.text()[:-1]] == [line[:-1] for line in text[:-1]]
        view.to_end()
        await pilot.pause()
        assert app.text()[-1] == "c.2"


async def test_the_scrollbar_follows_its_setting() -> None:
    async with shown(numbered("a", 50), scrollbar="always") as (app, _, _):
        assert app.text()[0].endswith("│")
        assert app.text()[-1].endswith("┃")
    async with shown(numbered("a", 50), scrollbar="hidden") as (app, view, pilot):
        view.to_start()
        await pilot.pause()
        assert not app.text()[0].endswith(("│", "┃"))


async def test_the_wheel_scrolls() -> None:
    async with shown(numbered("a", 50)) as (app, view, pilot):
        where = {"x": 1, "y": 1, "delta_x": 0, "delta_y": 0, "button": 0, "shift": False, "meta": False, "ctrl": False}
        view.post_message(events.MouseScrollUp(view, **where))
        await pilot.pause()
        assert app.text()[0].startswith("a.39")
        view.post_message(events.MouseScrollDown(view, **where))
        await pilot.pause()
        assert app.text()[0] == "a.42"


async def test_pages_overlap_by_a_row() -> None:
    async with shown(numbered("a", 50)) as (app, view, pilot):
        view.scroll_pages(-1)
        await pilot.pause()
        assert app.text()[0].startswith("a.35")
        view.scroll_pages(0.5)
        await pilot.pause()
        assert app.text()[0].startswith("a.39")


async def test_a_click_names_the_block_and_a_click_on_the_pill_returns() -> None:
    first, second = numbered("a", 5), numbered("b", 6)
    async with shown(first, second) as (app, view, pilot):
        await pilot.click(TranscriptView, offset=(1, 0))
        await pilot.pause()
        assert app.seen[-1].block is first
        view.scroll_rows(-1)
        await pilot.click(TranscriptView, offset=(10, 7))
        await pilot.pause()
        assert view.transcript.following


async def test_dragging_selects_text_over_rows_that_scroll() -> None:
    async with shown(numbered("a", 5), numbered("b", 6)) as (app, view, pilot):
        await pilot.mouse_down(TranscriptView, offset=(1, 0))
        await pilot.hover(TranscriptView, offset=(2, 3))
        await pilot.mouse_up(TranscriptView, offset=(2, 3))
        await pilot.pause()
        assert app.seen[-1].text == ".4\n\nb.0\nb.1"
        assert view.selection is not None
        view.clear_selection()
        assert view.selection is None


async def test_search_marks_and_walks_from_the_end() -> None:
    async with shown(numbered("a", 20), numbered("b", 20)) as (app, view, pilot):
        assert view.search("B.0")
        await pilot.pause()
        assert any(line.startswith("b.0") for line in app.text())
        marked = [s for s in view.render_line(2) if s.style and s.style.bgcolor] or [
            s for y in range(8) for s in view.render_line(y) if s.style and s.style.reverse
        ]
        assert "".join(segment.text for segment in marked).startswith("b.0")
        assert view.search_next(1)
        assert not view.search("nowhere")
        assert not view.search("")


async def test_expanding_changes_every_block() -> None:
    async with shown(numbered("a", 2)) as (app, view, pilot):
        view.set_frame(expanded=True)
        await pilot.pause()
        assert app.text()[:4] == ["a.0", "a.1", "a.2", "a.3"]


async def test_prompts_are_jumped_to() -> None:
    blocks = [numbered(str(n), 6, is_prompt=n % 2 == 0) for n in range(5)]
    async with shown(*blocks) as (app, view, pilot):
        view.jump_to_prompt(-1)
        await pilot.pause()
        assert app.text()[0].startswith("2.0")
        for _ in range(2):
            view.jump_to_prompt(1)
        assert view.transcript.following


async def test_resizing_to_any_size_draws_something() -> None:
    long = DrawnBlock(lambda frame: assistant_lines("word " * 50 + "中文", frame))
    async with shown(long) as (app, _, pilot):
        for size in ((1, 1), (20, 5), (2, 9), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert len(app.text()) == size[1]
        assert app.text()[0].startswith(" word")


async def test_only_rows_that_differ_are_painted() -> None:
    growing = GrowingMarkdown()
    async with shown(numbered("a", 3)) as (_, view, pilot):
        view.add(growing)
        growing.append("one")
        view.changed(growing)
        await settled(pilot)
        painted: list[int] = []
        render: Callable[[int], object] = view.render_line

        def record(y: int) -> object:
            painted.append(y)
            return render(y)

        view.render_line = record
        growing.append(" two")
        view.changed(growing)
        await settled(pilot)
        assert set(painted) == {4}


async def test_changes_are_gathered_into_frames() -> None:
    growing = GrowingMarkdown()
    async with shown() as (app, view, pilot):
        view.add(growing)
        paints = 0
        paint = view._compose_lines

        def count() -> list[Line]:
            nonlocal paints
            paints += 1
            return paint()

        view._compose_lines = count
        start = time.monotonic()
        for n in range(100):
            growing.append(f"w{n} ")
            view.changed(growing)
            await asyncio.sleep(0.002)
        elapsed = time.monotonic() - start
        await settled(pilot)
        assert paints <= elapsed / 0.05 + 3
        assert "w99" in " ".join(app.text())


async def test_a_paint_before_the_news_of_a_new_size_fits_that_size() -> None:
    async with shown(numbered("a", 30), size=(40, 5), scrollbar="always") as (app, view, pilot):
        view.transcript.resize(Frame(80), 20)  # as it was before
        view.paint()
        await pilot.pause()
        assert [line.split() for line in app.text()] == [[f"a.{n}", "│"] for n in range(25, 29)] + [["a.29", "┃"]]


async def test_what_comes_from_another_thread_is_painted() -> None:
    async with shown() as (app, view, _pilot):

        def add_two() -> None:
            view.add(numbered("a", 1))
            view.add(numbered("b", 1))  # within the frame of the first

        contextvars.Context().run(add_two)  # as callbacks run that another thread has asked for
        await until(lambda: "b.0" in app.text())
        view.add(numbered("c", 1))
        await until(lambda: "c.0" in app.text())
