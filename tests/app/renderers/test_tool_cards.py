from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from piolet.app.renderers.registry import BUILT_IN, tool_lines
from piolet.app.renderers.view import ToolRenderer, ToolView, split_notice
from piolet.tui.blocks.frame import Frame
from piolet.tui.pictures import Picture, PictureRoom
from piolet.tui.spans import Line, Style, line_text, line_width, picture_in, row
from tests.support.graphics import picture

FRAME, OPEN = Frame(70), Frame(70, expanded=True)
PICTURE = Picture(b64encode(picture(2, 2)).decode(), "image/png")
NUMBERS = "\n".join(f"line {n}" for n in range(1, 31))


def card(name: str, args: dict[str, Any], frame: Frame = FRAME, **more: Any) -> list[str]:
    return [line_text(line).rstrip()[1:] for line in tool_lines(ToolView(name, args, **more), frame)][1:-1]


def styles(name: str, args: dict[str, Any], **more: Any) -> dict[str, Style]:
    lines = tool_lines(ToolView(name, args, **more), FRAME)
    return {span.text: span.style._replace(bg=None) for line in lines for span in line}


# ------------------------------------------------------------------------------------------------------------ all tools


@pytest.mark.parametrize("name", [*BUILT_IN, "other"])
def test_arguments_may_be_missing_or_wrong_while_they_stream(name: str) -> None:
    odd = {"path": 5, "command": ["x"], "content": {}, "pattern": None, "offset": "x", "limit": True, "timeout": "1"}
    for args in ({}, odd):
        for frame in (FRAME, OPEN, Frame(1)):
            lines = tool_lines(ToolView(name, args, complete=False, state="arguments"), frame)
            assert all(line_width(line) <= frame.width for line in lines)


def test_missing_and_wrong_arguments_are_marked() -> None:
    assert card("read", {}) == ["read ..."]
    assert card("read", {"path": 5}) == ["read [invalid arg]"]
    assert styles("read", {"path": 5})["[invalid arg]"] == Style("error")
    assert card("bash", {}) == ["$ ..."]
    assert card("grep", {}) == ["grep ... in ."]


def test_a_call_line_has_a_bold_name_and_an_accented_path() -> None:
    found = styles("edit", {"path": "a.py"})
    assert found["edit"] == Style("toolTitle", bold=True)
    assert found["a.py"] == Style("accent")


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/w/src/a.py", "src/a.py"), ("/w", "/w"), ("/home/u/x", "~/x"), ("/wide/a", "/wide/a"), ("rel/a", "rel/a")],
)
def test_paths_are_relative_to_the_folder_or_to_home(path: str, shown: str) -> None:
    assert card("ls", {"path": path}, cwd="/w", home="/home/u") == [f"ls {shown}"]


def test_a_card_is_pending_until_the_call_is_done() -> None:
    def background(**more: Any) -> object:
        return tool_lines(ToolView("ls", {}, **more), FRAME)[0][0].style.bg

    assert background(state="arguments") == background(state="running") == "toolPendingBg"
    assert background() == "toolSuccessBg"
    assert background(is_error=True) == "toolErrorBg"


@pytest.mark.parametrize("name", [*BUILT_IN, "other"])
def test_what_tools_say_drives_nothing(name: str) -> None:
    evil = "a\x1b]0;pwn\x07\x1b[2Jb\u202e\r\x00"
    args = {"path": evil, "command": evil, "content": evil, "pattern": evil, "glob": evil, evil: evil}
    view = ToolView(name, args, text=evil, details={"diff": evil, "fullOutputPath": evil}, pictures=[Picture("", evil)])
    for view_ in (view, ToolView(name, args, text=evil, is_error=True)):
        for frame in (FRAME, OPEN):
            text = "".join(line_text(line) for line in tool_lines(view_, frame))
            assert not set(text) & set("\x1b\x07\u202e\r\x00\n\t")


# -------------------------------------------------------------------------------------------------------------- by tool


def test_read_shows_its_range_and_content_only_when_expanded() -> None:
    args = {"path": "a.py", "offset": 10, "limit": 20}
    assert card("read", args, text="x = 1\n") == ["read a.py:10-29"]
    assert styles("read", args)[":10-29"] == Style("warning")
    assert card("read", {"path": "a.py", "limit": 5}) == ["read a.py:1-5"]
    text = "x = 1\ny\n\n[3 more lines in file. Use offset=3 to continue.]"
    assert card("read", {"path": "a.py"}, OPEN, text=text) == [
        "read a.py", "", "x = 1", "y", "[3 more lines in file. Use offset=3 to continue.]",
    ]  # fmt: skip


def test_read_shows_an_error_and_pictures_always() -> None:
    assert card("read", {"path": "a"}, text="ENOENT: no such file", is_error=True) == [
        "read a",
        "",
        "ENOENT: no such file",
    ]
    drawn = card("read", {"path": "a.png"}, text="Read image file [image/png]", pictures=[PICTURE])
    assert drawn == ["read a.png", "", "[image: image/png 2x2]"]


@pytest.mark.parametrize("boxed", [True, False])
def test_pictures_stand_below_what_any_tool_draws(boxed: bool) -> None:
    own = ToolRenderer(lambda view, frame: [row("own")], lambda view, frame: [row("body")], boxed)
    frame = Frame(70, pictures=PictureRoom(10))
    lines = tool_lines(ToolView("x", pictures=[PICTURE, PICTURE]), frame, {"x": own})
    pictures = [at for line in lines if (at := picture_in(line)) is not None]
    assert pictures == [(int(boxed), (PICTURE.number, 10, 5, row)) for row in range(5)] * 2
    text = [line_text(line).strip() for line in lines]
    assert text[int(boxed) :][:4] == ["own", "", "body", ""]
    assert all(line_width(line) == 70 for line in lines) or not boxed


def test_read_names_skills_and_context_files() -> None:
    assert card("read", {"path": "/s/pdf/SKILL.md"}) == ["[skill] pdf"]
    assert card("read", {"path": "/s/pdf/SKILL.md"}, OPEN) == ["read /s/pdf/SKILL.md"]
    assert card("read", {"path": "AGENTS.md"}) == ["read resource AGENTS.md"]


def test_bash_shows_the_last_rows_and_the_time() -> None:
    args = {"command": "seq 30", "timeout": 60}
    assert card("bash", args, text=NUMBERS + "\n", seconds=3.14) == [
        "$ seq 30 (timeout 60s)",
        "",
        "... (25 earlier lines, ctrl+o to expand)",
        *NUMBERS.split("\n")[-5:],
        "",
        "Took 3.1s",
    ]
    assert card("bash", args, state="running", text="a", seconds=0.5)[-1] == "Elapsed 0.5s"
    assert len(card("bash", args, OPEN, text=NUMBERS)) == 32


def test_bash_shows_where_all_the_output_is() -> None:
    text = "x\n\n[Showing lines 3-5 of 5. Full output: /tmp/f.log]\n\nCommand exited with code 2"
    lines = card("bash", {"command": "x"}, text=text, details={"fullOutputPath": "/tmp/f.log"}, is_error=True)
    assert lines == [
        "$ x",
        "",
        "x",
        "",
        "Command exited with code 2",
        "",
        "[Showing lines 3-5 of 5. Full output: /tmp/f.log]",
    ]


def test_bash_keeps_the_lines_of_a_command() -> None:
    assert card("bash", {"command": "a\nb"}) == ["$ a", "b"]


def test_write_shows_the_first_lines_of_the_content() -> None:
    args = {"path": "a.txt", "content": NUMBERS + "\n"}
    lines = card("write", args)
    assert lines[:3] == ["write a.txt", "", "line 1"]
    assert lines[-2:] == ["line 10", "... (20 more lines, 30 total, ctrl+o to expand)"]
    assert len(card("write", args, OPEN)) == 32
    assert card("write", {"path": "a", "content": 5})[-1] == "[invalid content]"
    assert card("write", {"path": "a", "content": "x"}, is_error=True, text="EACCES")[-2:] == ["", "EACCES"]


def test_edit_shows_the_preview_and_then_the_diff() -> None:
    args = {"path": "a", "edits": []}
    assert card("edit", args, state="running", preview="-1 a\n+1 b") == ["edit a", "", "-1 a", "+1 b"]
    diff = {"diff": "-1 a\n+1 c"}
    assert card("edit", args, preview="-1 a\n+1 b", details=diff) == ["edit a", "", "-1 a", "+1 c"]
    assert card("edit", args, text="Could not find", is_error=True) == ["edit a", "", "Could not find"]
    assert styles("edit", args, text="Could not find", is_error=True)["Could not find"] == Style("error")


@pytest.mark.parametrize(
    ("name", "args", "call", "rows"),
    [
        ("grep", {"pattern": "x y", "path": "src", "glob": "*.py", "limit": 3}, "grep /x y/ in src (*.py) limit 3", 15),
        ("find", {"pattern": "*.py", "limit": 7}, "find *.py in . (limit 7)", 20),
        ("ls", {"limit": 7}, "ls . (limit 7)", 20),
    ],
)
def test_lists_are_folded_and_end_in_their_notice(name: str, args: dict[str, Any], call: str, rows: int) -> None:
    text = f"{NUMBERS}\n\n[30 results limit reached]"
    assert card(name, args, text=text) == [
        call,
        "",
        *NUMBERS.split("\n")[:rows],
        f"... ({30 - rows} more lines, ctrl+o to expand)",
        "[30 results limit reached]",
    ]
    assert len(card(name, args, OPEN, text=text)) == 33


def test_any_other_tool_shows_its_arguments() -> None:
    args = {"to": "a@b", "n": [1, 2]}
    assert card("send_mail", args, text="ok") == ["send_mail to: a@b, n: [1, 2]", "", "ok"]
    assert card("send_mail", {"n": 1}, OPEN)[:4] == ["send_mail", "{", '  "n": 1', "}"]
    assert len(card("x", {}, text=NUMBERS)) == 13


# ----------------------------------------------------------------------------------------------------------- extensions


def test_a_renderer_of_an_extension_may_draw_its_own_shell() -> None:
    def draw(view: ToolView, frame: Frame) -> list[Line]:
        return [row("mine")]

    assert tool_lines(ToolView("x"), FRAME, {"x": ToolRenderer(draw, lambda *_: [], boxed=False)}) == [row("mine")]


def test_a_renderer_that_raises_is_told_of_and_replaced() -> None:
    def broken(view: ToolView, frame: Frame) -> list[Line]:
        raise KeyError("x")

    told: list[tuple[str, str]] = []
    renderers = {"x": ToolRenderer(broken, broken)}
    lines = tool_lines(ToolView("x", {"a": 1}), FRAME, renderers, lambda name, error: told.append((name, repr(error))))
    assert line_text(lines[1]).strip() == "x a: 1"
    assert told == [("x", "KeyError('x')")]


def test_only_a_last_line_in_brackets_is_a_notice() -> None:
    assert split_notice("a\n\n[b]") == ("a", "[b]")
    assert split_notice("[b]") == ("", "[b]")
    assert split_notice("a\n[b]") == ("a\n[b]", "")
    assert split_notice("a\n\n[b]\nc") == ("a\n\n[b]\nc", "")
