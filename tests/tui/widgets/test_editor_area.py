from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from piolet.tui.blocks.rules import busy_text
from piolet.tui.completion import CommandInfo, Sources
from piolet.tui.editor import Editor
from piolet.tui.keys import Key
from piolet.tui.widgets.editor_area import EditorArea
from piolet.tui.widgets.key_events import KeyEvent, key_of
from tests.support.timing import until
from tests.tui.widgets.stage import Stage, strips


@asynccontextmanager
async def shown(editor: Editor | None = None, size: tuple[int, int] = (40, 12), **options: Any) -> Any:
    area = EditorArea(editor or Editor(), strips(), **options)
    app = Stage(lambda: [area])
    async with app.run_test(size=size) as pilot:
        area.focus()
        await pilot.pause()
        yield app, area, pilot


async def write(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*["space" if char == " " else char for char in text])


async def test_typed_text_stands_between_rules() -> None:
    async with shown() as (app, _, pilot):
        await write(pilot, "hello World")
        assert app.text()[:3] == ["─" * 40, "hello World", "─" * 40]


async def test_it_grows_with_its_text_up_to_a_share_of_the_screen() -> None:
    async with shown(size=(40, 30)) as (app, area, pilot):
        for n in range(14):
            await pilot.press(str(n % 10), "ctrl+j")
        rows = app.text()
        assert area.size.height == 2 + 9
        assert "↑ 6 more" in rows[0]
        await pilot.press("pageup", "pageup", "pageup")
        assert "↓ 6 more" in app.text()[10]


async def test_enter_asks_to_send_and_the_text_stays_until_it_is_taken() -> None:
    async with shown() as (app, area, pilot):
        await write(pilot, "go")
        await pilot.press("enter")
        assert [type(m).__name__ for m in app.seen] == ["Changed", "Changed", "Submitted"]
        assert area.editor.take() == "go"
        area.update()
        await pilot.pause()
        assert app.text()[1] == ""


async def test_a_paste_reaches_the_editor_whole() -> None:
    async with shown() as (app, area, pilot):
        area.post_message(events.Paste("a\tb\r\n" * 30))
        await pilot.pause()
        assert app.text()[1] == "[paste #1 +31 lines]"
        assert area.editor.buffer.value == "a\tb\n" * 30


async def test_the_rule_shows_what_is_done_and_a_shell_command_its_colour() -> None:
    async with shown() as (app, area, pilot):
        area.set_busy(busy_text("⠋", "Working"))
        await pilot.pause()
        assert app.text()[0].startswith("── ⠋ Working ──")
        quiet = area.render_line(2)
        await write(pilot, "!ls")
        assert area.render_line(2) != quiet


async def test_the_terminals_cursor_is_where_ours_is() -> None:
    async with shown() as (app, _, pilot):
        await write(pilot, "ab中")
        assert app.cursor_position == (4, 1)


async def test_some_keys_are_looked_at_first_and_others_go_on() -> None:
    seen: list[str] = []

    def first_look(key: Key) -> bool:
        seen.append(key.name)
        return key.name == "ctrl+c"

    async with shown(first_look=first_look) as (_, area, pilot):
        await write(pilot, "a")
        await pilot.press("ctrl+c", "pageup")
        assert seen == ["a", "ctrl+c", "pageUp"]
        assert area.editor.buffer.text == "a"


async def find(folder: str, part: str) -> Sequence[str]:
    return ["src/main.py", "make/"]


async def names(folder: str) -> Sequence[str]:
    raise FileNotFoundError(folder)


SOURCES = Sources(lambda: [CommandInfo("model", "choose"), CommandInfo("mode")], find, names)


async def test_suggestions_open_below_and_push_nothing_off_the_text() -> None:
    async with shown(sources=SOURCES) as (app, _, pilot):
        await write(pilot, "/mo")
        await pilot.pause()
        assert app.text()[1] == "/mo"
        assert app.text()[3:5] == ["→ model  choose", "  mode"]
        await pilot.press("up", "up", "tab")
        assert app.text()[1:4] == ["/model", "─" * 40, ""]


async def test_files_are_asked_for_after_a_moment_and_unknown_folders_are_silent() -> None:
    async with shown(sources=SOURCES) as (app, area, pilot):
        await write(pilot, "@ma")
        await until(lambda: "main.py" in app.text()[4])
        await pilot.press("escape", "space")
        await write(pilot, "/nowhere/")
        await pilot.pause()
        assert area.editor.menu is None


async def test_keys_that_our_decoder_has_read_arrive_like_others() -> None:
    async with shown() as (app, area, pilot):
        app.post_message(KeyEvent(Key("a", "a")))
        app.post_message(KeyEvent(Key("shift+enter")))
        await pilot.pause()
        assert area.editor.buffer.text == "a\n"


@pytest.mark.parametrize(
    ("event", "key"),
    [
        (events.Key("a", "a"), Key("a", "a")),
        (events.Key("A", "A"), Key("shift+a", "A")),
        (events.Key("space", " "), Key("space", " ")),
        (events.Key("exclamation_mark", "!"), Key("!", "!")),
        (events.Key("pageup", None), Key("pageUp")),
        (events.Key("ctrl+pagedown", None), Key("ctrl+pageDown")),
        (events.Key("shift+tab", None), Key("shift+tab")),
        (events.Key("ctrl+right_square_bracket", "\x1d"), Key("ctrl+]")),
        (events.Key("ctrl+underscore", "\x1f"), Key("ctrl+-")),
        (events.Key("alt+shift+b", None), Key("shift+alt+b")),
        (events.Key("enter", "\r"), Key("enter")),
        (events.Key("中", "中"), Key("中", "中")),
        (KeyEvent(Key("ctrl+alt+]")), Key("ctrl+alt+]")),
        (KeyEvent(Key("pageUp", kind="release")), Key("pageUp", kind="release")),
    ],
)
def test_keys_of_the_toolkit_have_our_names(event: events.Key, key: Key) -> None:
    assert key_of(event) == key
