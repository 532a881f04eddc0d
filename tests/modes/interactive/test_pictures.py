"""Images on real terminals (terminal specification, section 13)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from piolet.harness.messages import CustomMessage
from piolet.llm.messages import ImageContent, TextContent, UserMessage
from piolet.tui.keys import Key
from piolet.tui.overlay import OverlayOptions
from piolet.tui.spans import BLANK, Line
from tests.modes.interactive.desk import Desk, opened
from tests.modes.interactive.program import running
from tests.support.graphics import KittyTerminal, iterm2_images, picture, sixel_images
from tests.support.replies import Call, openai
from tests.support.run import Place
from tests.support.scripted_model import call, says
from tests.support.server import ScriptedServer
from tests.support.terminal import Terminal

LONG = "\n\n".join(f"row {n}" for n in range(40))
READ = Call("read", {"path": "a.png"})
LINE = "[image: image/png 200x100]"


@contextmanager
def reading(place: Place, *argv: str, cell: tuple[int, int] = (0, 0), **env: str) -> Iterator[Terminal]:
    """Run piolet until its model has read a picture; a further prompt is answered with many rows."""
    (place.cwd / "a.png").write_bytes(picture(200, 100))
    with ScriptedServer([openai(READ), openai("seen"), openai(LONG)]) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", *argv, rows=40, env={"NO_COLOR": ""} | env, cell=cell) as terminal:
            terminal.send("look\r")
            terminal.wait_for("seen")
            yield terminal


def until(terminal: Terminal, done: Callable[[bytes], object]) -> None:
    """Wait until what was written is as it should be."""
    try:
        terminal.wait_for(lambda _: bool(done(terminal.output)), 60)
    except AssertionError:
        raise AssertionError(f"it does not come:\n{terminal.text}\n{terminal.output[-3000:]!r}") from None


def shown(output: bytes) -> list[tuple[int, int, str, str]]:
    """Return what a Kitty terminal shows: row, column, and the first pixel row and the rows of cells of the image."""
    return [
        (*at, keys["y"], keys["r"]) for at, keys in KittyTerminal.of(output).shown.values() if at is not None
    ]  # fmt: skip


def test_kitty_shows_an_image_while_its_rows_are_in_sight(place: Place) -> None:
    with reading(place, TERM="xterm-kitty", EDITOR="true") as terminal:
        until(terminal, lambda output: len(shown(output)) == 1)
        (image,) = KittyTerminal.of(terminal.output).images.values()
        assert image.convert("RGB").getpixel((300, 100)) == (255, 0, 0)
        ((y, x, top, rows),) = shown(terminal.output)
        assert "read a.png" in terminal.lines[y - 2]
        assert (x, top, rows) == (1, "0", "15")
        assert terminal.lines[y : y + 15] == [""] * 15

        terminal.send("more\r")
        terminal.wait_for("row 39")
        until(terminal, lambda output: shown(output) == [])
        terminal.send("\x1b[1;5H")  # ctrl+home
        until(terminal, shown)
        assert terminal.output.count(b"a=t") == 1

        terminal.send("\x1b[6;20;10t")  # the font is a larger one now
        until(terminal, lambda output: output.count(b"a=t") == 2 and shown(output))
        (image,) = KittyTerminal.of(terminal.output).images.values()
        assert image.size == (600, 300)

        terminal.send("/settings\r")
        terminal.wait_for("Auto-compact")
        terminal.send("image width")
        terminal.wait_for("60")
        terminal.press("enter")
        terminal.wait_for("80")
        until(terminal, lambda output: [keys["c"] for _, keys in KittyTerminal.of(output).shown.values()] == ["80"])
        terminal.press(*["backspace"] * len("image width"))
        terminal.send("show images")
        terminal.wait_for("Draw images in the transcript")
        terminal.press("enter")
        terminal.wait_for(LINE)
        until(terminal, lambda output: shown(output) == [])
        terminal.press("enter")
        until(terminal, shown)

        terminal.press("escape")
        terminal.wait_for(lambda text: "Settings" not in text)
        sent = terminal.output.count(b"a=t")
        terminal.press("ctrl+g")  # an editor has the terminal meanwhile, which then has lost the images
        until(terminal, lambda output: output.count(b"a=t") == sent + 1 and shown(output))
        terminal.press("ctrl+d")
        terminal.wait_for_exit()
        assert KittyTerminal.of(terminal.output).images == {}
        assert LINE in "\n".join(terminal.all_lines)


def test_a_terminal_that_says_late_that_it_can_draws_sixels(place: Place) -> None:
    with reading(place) as terminal:
        terminal.wait_for(LINE)
        terminal.send("\x1b[6;20;10t\x1b[?62;4;22c")
        until(terminal, lambda output: len(list(sixel_images(output))) >= 15)
        for image in sixel_images(terminal.output):
            assert image.size == (600, 20)
            assert image.getpixel((300, 10)) == (255, 0, 0, 255)
        places = [int(row) for row in re.findall(rb"\x1b\[(\d+);2H\x1bP0;1;0q", terminal.output)][:15]
        assert places == list(range(places[0], places[0] + 15))
        assert terminal.lines[places[0] - 1 : places[-1]] == [""] * 15
        assert not any("62;4" in line for line in terminal.lines)

        terminal.send("more\r")
        terminal.wait_for("row 39")
        before = len(list(sixel_images(terminal.output)))
        terminal.send("\x1b[1;5H")
        until(terminal, lambda output: len(list(sixel_images(output))) >= before + 15)


def test_iterm2_draws_images(place: Place) -> None:
    with reading(place, cell=(8, 16), TERM_PROGRAM="iTerm.app") as terminal:
        until(terminal, lambda output: len(list(iterm2_images(output))) >= 15)
        for keys, image in iterm2_images(terminal.output):
            assert (keys["width"], keys["height"]) == ("60", "1")
            assert image.size == (480, 16)
            assert image.convert("RGB").getpixel((300, 10)) == (255, 0, 0)


def test_regular_mode_leaves_an_image_in_the_scrollback(place: Place) -> None:
    with reading(place, "--tui-mode", "regular", TERM="xterm-kitty") as terminal:
        until(terminal, lambda output: KittyTerminal.of(output).shown)
        terminal.send("more\r")
        terminal.wait_for("row 39")

        def in_its_place(_: str) -> bool:
            rows = terminal.all_lines
            read, seen = (
                next((y for y, row in enumerate(rows) if words in row), 0) for words in ("read a.png", "seen")
            )
            return seen - read == 19 and rows[read + 2 : read + 17] == [""] * 15

        terminal.wait_for(in_its_place)
        terminal.press("ctrl+d")
        terminal.wait_for_exit()
        ((_, keys),) = KittyTerminal.of(terminal.output).shown.values()
        assert (keys["c"], keys["r"], keys["h"]) == ("60", "15", "270")
        assert b"\x1b[15A\r\x1b[1C\x1b_Ga=p" in terminal.output


def test_in_tmux_a_line_tells_of_an_image(place: Place) -> None:
    with reading(place, TERM="xterm-kitty", TMUX="/tmp/x,1,0") as terminal:
        terminal.wait_for(LINE)
        terminal.send("/settings\r")
        terminal.wait_for("Search:")
        terminal.send("image")
        terminal.wait_for("Search: image")
        assert "Block images" in terminal.text
        assert "Show images" not in terminal.text
        terminal.send("\x1b[?62;4;22c")
        terminal.press("escape")
        terminal.wait_for(lambda text: "Settings" not in text)
        assert not list(sixel_images(terminal.output))
        assert b"\x1b_G" not in terminal.output


def image(data: bytes) -> ImageContent:
    return ImageContent(b64encode(data).decode(), "image/png")


class Kitty:
    """What a Kitty terminal would have of the screen of a desk."""

    def __init__(self, desk: Desk) -> None:
        self._app = desk.face.app
        self._output = b""

    @property
    def rows(self) -> list[int]:
        """The rows of the screen over which something is shown."""
        self._output += self._app.paint_over(range(self._app.size.height)).encode()
        shown = KittyTerminal.of(self._output).shown.values()
        return sorted(row for at, keys in shown if at is not None for row in range(at[0], at[0] + int(keys["r"])))


def at(desk: Desk, text: str) -> int:
    return next(number for number, row in enumerate(desk.rows) if text in row)


async def test_images_of_prompts_and_of_extensions_are_drawn_below_their_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_IMAGE_PROTOCOL", "kitty")
    broken = picture(300, 300)[:-40]
    async with opened(tmp_path, size=(100, 60), settings={"terminal": {"imageWidthCells": 20}}) as desk:
        kitty = Kitty(desk)
        prompt = UserMessage([TextContent("the prompt"), image(picture(20, 10)), image(broken)], 0)
        note = CustomMessage("note", [TextContent("the note"), image(picture(20, 20))], True, 1)
        desk.face.presenter.show_session([prompt, note])
        await desk.until(lambda: len(kitty.rows) == 15 and "[image: image/png 300x300]" in desk.text)
        first, second = at(desk, "the prompt") + 2, at(desk, "the note") + 2
        assert kitty.rows == [*range(first, first + 5), *range(second, second + 10)]
        assert at(desk, "[image: image/png 300x300]") == first + 5


class Box:
    """A panel of four rows."""

    def lines(self, width: int, height: int) -> list[Line]:
        return [BLANK] * 4

    def handle(self, key: Key) -> bool:
        return False

    def paste(self, text: str) -> None: ...


async def test_an_image_keeps_out_of_what_floats_over_it_and_follows_the_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_IMAGE_PROTOCOL", "kitty")
    async with opened(tmp_path, size=(100, 60)) as desk:
        kitty, app = Kitty(desk), desk.face.app
        desk.face.presenter.show_session([UserMessage([image(picture(20, 20))], 0)])
        await desk.until(lambda: len(kitty.rows) == 30)
        whole = kitty.rows
        view = app.overlays.push(Box(), lambda: OverlayOptions("top-left", 20, whole[10], width=30))
        await desk.until(lambda: kitty.rows == [*whole[:10], *whole[14:]])
        view.hidden = True
        app.overlays.redraw()
        await desk.until(lambda: kitty.rows == whole)
        await desk.pilot.resize_terminal(42, 60)
        await desk.until(lambda: len(kitty.rows) == 20)


CAMERA = '''
from piolet.ext import *


def extension(pi):
    @pi.tool(render_result=lambda result, options, theme: " and ".join(block.type for block in result.content))
    async def photo() -> ToolResult:
        """Take a photo."""
        return ToolResult([text("taken"), image("{data}", "image/png")])
'''


async def test_images_of_a_tool_of_an_extension_stand_below_what_that_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_IMAGE_PROTOCOL", "kitty")
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    folder.mkdir(parents=True)
    (folder / "camera.py").write_text(CAMERA.replace("{data}", b64encode(picture(20, 10)).decode()))
    async with opened(tmp_path, says(call("photo")), says("nice"), size=(100, 60)) as desk:
        kitty = Kitty(desk)
        await desk.ask("cheese", "nice")
        await desk.see("text and image")
        below = at(desk, "text and image") + 2
        await desk.until(lambda: kitty.rows == [*range(below, below + 15)])
