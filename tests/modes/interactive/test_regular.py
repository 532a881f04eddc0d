"""Regular mode: what is finished goes to the terminal's scrollback, once and in order (specification, section 1)."""

from __future__ import annotations

import shlex

from tests.modes.interactive.program import READY, running
from tests.support.replies import Call, openai
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer
from tests.support.terminal import Terminal


def everything(terminal: Terminal) -> list[str]:
    return [*terminal.history, *terminal.lines]


def test_finished_blocks_stand_in_the_scrollback_once_and_in_order(place: Place) -> None:
    replies = [openai(f"answer {n}\n\n" + "\n\n".join(f"row {n}.{m}" for m in range(6))) for n in range(4)]
    with ScriptedServer(replies) as server:
        place.write_models(server.url)
        with running(place, "--model", "stub/m1", "--tui-mode", "regular", rows=24) as terminal:
            for n in range(4):
                terminal.send(f"question {n}\r")
                terminal.wait_for(f"row {n}.5")
                if n == 1:
                    terminal.resize(90, 24)
                    terminal.wait_for(READY)
            terminal.wait_for(lambda text: "Working" not in text)
            rows = everything(terminal)
            wanted = [
                row for n in range(4) for row in (f"question {n}", f"answer {n}", *(f"row {n}.{m}" for m in range(6)))
            ]
            found = [row.strip() for row in rows if row.strip() in wanted]
            assert found == wanted
            assert b"\x1b[?1049h" not in terminal.output
            assert b"\x1b[?1003h" not in terminal.output


def test_leaving_prints_nothing_twice_and_leaves_the_prompt_below(place: Place) -> None:
    with ScriptedServer(
        [openai("the only answer", Call("bash", {"command": "echo from the tool"}, "c1")), openai("the end")]
    ) as server:
        place.write_models(server.url)
        command = " ".join(map(shlex.quote, [*PIOLET, "--model", "stub/m1", "--tui-mode", "regular"]))
        argv = ["sh", "-c", f"echo before; {command}; echo after"]
        with Terminal(argv, cwd=place.cwd, env=place.environment(), columns=100, rows=24) as terminal:
            terminal.wait_for(READY, timeout=30)
            terminal.send("ask it\r")
            terminal.wait_for("the end")
            terminal.wait_for(lambda text: "Working" not in text)
            terminal.press("ctrl+d")
            terminal.wait_for("after")
            rows = [row.strip() for row in everything(terminal)]
            for text in ("before", "ask it", "the only answer", "from the tool", "the end", "after"):
                assert rows.count(text) == 1, (text, rows)
            assert rows.index("before") < rows.index("ask it") < rows.index("the end") < rows.index("after")
            assert any("To resume this session" in row for row in rows)
            assert not any("───" in row for row in rows), rows


def test_the_mode_is_chosen_in_the_settings_and_panels_work_in_it(place: Place) -> None:
    place.write_settings({"tuiMode": "regular"})
    with running(place, ready="no model") as terminal:
        assert b"\x1b[?1049h" not in terminal.output
        terminal.send("/hotkeys\r")
        terminal.wait_for("Search:")
        terminal.press("escape")
        terminal.wait_for(lambda text: "Search:" not in text)
        terminal.send("still here")
        terminal.wait_for("still here")
