from __future__ import annotations

import json
from pathlib import Path

from tests.modes.interactive.desk import Desk, opened
from tests.support.scripted_model import call, hangs, says, thinking

LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))


def bind(folder: Path, **keys: str) -> None:
    agent = folder / "home/.pi/agent"
    agent.mkdir(parents=True)
    named = {name.replace("_", "."): key for name, key in keys.items()}
    (agent / "keybindings.json").write_text(json.dumps(named))


async def test_escape_closes_the_menu_before_anything_else(tmp_path: Path) -> None:
    async with opened(tmp_path, hangs("Endless")) as desk:
        await desk.submit("go")
        await desk.see("Endless")
        desk.type("/")
        await desk.see("→ settings")
        desk.key("escape")
        await desk.not_see("→ settings")
        assert desk.runtime.session.is_streaming
        desk.key("escape")
        await desk.see("Operation aborted")


async def test_escape_leaves_shell_mode_and_twice_opens_the_tree(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One.")) as desk:
        await desk.ask("first", "One.")
        desk.type("!ls")
        await desk.see("!ls")
        desk.key("escape")
        await desk.until(lambda: desk.draft == "")
        desk.key("escape", "escape")
        await desk.see("Session Tree")
        desk.key("escape")
        await desk.not_see("Session Tree")


async def test_what_escape_twice_does_is_a_setting(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), settings={"doubleEscapeAction": "fork"}) as desk:
        await desk.ask("first", "One.")
        desk.key("escape", "escape")
        await desk.see("Fork from message")
        desk.key("escape")
        desk.runtime.services.files.write(("doubleEscapeAction",), "none")
        desk.key("escape", "escape", "x")
        await desk.until(lambda: desk.draft == "x")


async def test_ctrl_d_leaves_only_with_an_empty_editor(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.type("ab")
        desk.key("home", "ctrl+d")
        await desk.until(lambda: desk.draft == "b")
        desk.key("ctrl+d", "ctrl+d")
        await desk.until(lambda: desk.face.app.return_value == 0)


async def test_ctrl_o_unfolds_everything(tmp_path: Path) -> None:
    output = "for i in $(seq 30); do echo line $i; done"
    async with opened(tmp_path, says(call("bash", command=output)), says("Done."), size=(100, 50)) as desk:
        await desk.ask("go", "Done.")
        await desk.see("... (25 earlier lines, ctrl+o to expand)")
        desk.key("ctrl+o")
        await desk.see("Tool output: expanded")
        await desk.see("line 5")
        desk.key("ctrl+o")
        await desk.see("Tool output: collapsed")


async def test_the_transcript_is_walked_by_keys(tmp_path: Path) -> None:
    async with opened(tmp_path, says(LONG), says("Two.")) as desk:
        await desk.ask("first", "Paragraph 59.")
        await desk.ask("second", "Two.")
        desk.key("pageUp")
        await desk.see("Jump to latest message")
        desk.key("pageDown")
        await desk.not_see("Jump to latest message")
        desk.key("ctrl+home")
        await desk.see("piolet v")
        desk.key("ctrl+down")
        await desk.until(lambda: desk.rows[1].startswith(" first"))
        desk.key("ctrl+down")
        await desk.see("Two.")
        desk.key("ctrl+up", "ctrl+up")
        await desk.see("Paragraph 1.")
        desk.key("ctrl+shift+down")
        await desk.see("Two.")
        desk.key("ctrl+shift+up", "ctrl+shift+up")
        await desk.see("Paragraph 1.")
        desk.key("ctrl+end")
        await desk.see("Two.")


async def test_a_key_of_the_program_ends_the_wait_for_a_character_to_jump_to(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.type("abc")
        desk.key("home", "ctrl+]", "ctrl+o", "c")
        await desk.until(lambda: desk.draft == "cabc")


async def test_keys_without_a_default_can_be_bound(tmp_path: Path) -> None:
    bind(
        tmp_path,
        app_session_new="f5",
        app_session_tree="f6",
        app_session_fork="f7",
        app_session_resume="f8",
        tui_altScreen_lineUp="f9",
        tui_altScreen_lineDown="f10",
        tui_altScreen_halfPageUp="f11",
        tui_altScreen_halfPageDown="f12",
    )
    async with opened(tmp_path, says(LONG)) as desk:
        await desk.ask("first", "Paragraph 59.")
        for up, down in (("f9", "f10"), ("f11", "f12")):
            desk.key(up)
            await desk.see("Jump to latest message")
            desk.key(down)
            await desk.not_see("Jump to latest message")
        for key, title in (("f6", "Session Tree"), ("f7", "Fork from message"), ("f8", "Resume session")):
            desk.key(key)
            await desk.see(title)
            desk.key("escape")
            await desk.not_see(title)
        desk.key("f5")
        await desk.see("New session started")


async def test_the_transcript_is_searched(tmp_path: Path) -> None:
    async with opened(tmp_path, says(LONG)) as desk:
        await desk.ask("first", "Paragraph 59.")
        desk.key("ctrl+shift+f")
        await desk.see("Find:")
        desk.type("Paragraph 3")
        await desk.see("Paragraph 39.")
        desk.key("shift+enter", "shift+enter")
        await desk.see("Paragraph 37.")
        desk.key("enter", "ctrl+g")
        desk.key("pageUp")
        desk.key("escape")
        await desk.not_see("Find:")
        desk.type("x")
        await desk.until(lambda: desk.draft == "x")


async def test_ctrl_x_copies_the_last_answer(tmp_path: Path) -> None:
    copied: list[str] = []
    async with opened(tmp_path, says("The answer.")) as desk:
        desk.face.app.write = copied.append  # type: ignore[method-assign]
        await desk.ask("first", "The answer.")
        desk.key("ctrl+x")
        await desk.see("Copied the last answer")
        await desk.until(lambda: any("]52;c;VGhlIGFuc3dlci4=" in text for text in copied))


async def test_alt_up_brings_the_queue_back(tmp_path: Path) -> None:
    async with opened(tmp_path, hangs("Endless")) as desk:
        await desk.submit("go")
        await desk.see("Endless")
        await desk.submit("one")
        await desk.submit("two", "alt+enter")
        await desk.see("↳ Alt+Up to edit all queued messages")
        desk.type("three")
        desk.key("alt+up")
        await desk.see("Restored 2 queued messages to editor")
        await desk.until(lambda: desk.draft == "one\n\ntwo\n\nthree")
        assert desk.runtime.session.is_streaming


async def test_hidden_thinking_can_be_clicked(tmp_path: Path) -> None:
    settings = {"hideThinkingBlock": True}
    async with opened(tmp_path, says(thinking("Deep thought"), "Answer."), settings=settings) as desk:
        await desk.ask("go", "Answer.")
        await desk.see("Thinking...")
        row = next(y for y, text in enumerate(desk.rows) if "Thinking..." in text)
        await desk.pilot.click("#transcript", offset=(3, row))
        await desk.see("Deep thought")


async def test_history_goes_back_over_the_session(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), says("Two.")) as desk:
        await desk.ask("first", "One.")
        await desk.ask("second", "Two.")
        desk.type("draft")
        desk.key("home", "up")
        await desk.until(lambda: desk.draft == "second")
        desk.key("up")
        await desk.until(lambda: desk.draft == "first")
        desk.key("end", "down", "down")
        await desk.until(lambda: desk.draft == "draft")
        session = desk.runtime.session.session.path
    assert session is not None
    async with opened(tmp_path, session=Path(session)) as desk:
        desk.key("up", "up")
        await desk.until(lambda: desk.draft == "first")


async def test_files_commands_and_paths_are_completed(tmp_path: Path) -> None:
    (tmp_path / "cwd/src").mkdir(parents=True)
    (tmp_path / "cwd/src/main.py").write_text("")
    (tmp_path / "cwd/a file.txt").write_text("")
    (tmp_path / "cwd/to-src").symlink_to("src")
    (tmp_path / "cwd/.git").mkdir()
    (tmp_path / "cwd/.git/main").write_text("")
    async with opened(tmp_path) as desk:
        desk.type("look at @mai")
        await desk.see("→ main.py")
        await desk.not_see(".git/main")
        desk.key("tab")
        await desk.until(lambda: desk.draft == "look at @src/main.py ")
        desk.type("and @fil")
        await desk.see("→ a file.txt")
        desk.key("enter")
        await desk.until(lambda: desk.draft.endswith('@"a file.txt" '))
        desk.type("in ./s")
        await desk.see("→ src/")
        desk.key("tab")
        await desk.until(lambda: desk.draft.endswith("./src/"))
        desk.key("escape", "ctrl+c")
        desk.type("./to")
        await desk.see("→ to-src/")
        desk.key("tab")
        await desk.see("→ main.py")
        desk.key("escape", "ctrl+c")
        desk.type("/thi")
        await desk.see("→ thinking")
        desk.key("tab")
        await desk.until(lambda: desk.draft == "/thinking ")


async def test_lists_fit_the_window(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), size=(20, 10)) as desk:
        await desk.ask("first", "One.")
        desk.type("/")
        await desk.see("→ settings")
        await desk.see("(1/22)")
        await desk.until(lambda: "scripted-1" in desk.rows[-1])
        desk.key("escape", "backspace")
        for command, shown in (("/settings", "→ Auto-compact"), ("/tree", "One."), ("/model", "→ ✓ scripted-1")):
            await desk.submit(command)
            await desk.see(shown)
            await desk.until(lambda: "scripted-1" in desk.rows[-1])
            assert all(len(row) <= 20 for row in desk.rows)
            desk.key("escape")


async def shell(desk: Desk, text: str, shown: str) -> None:
    await desk.submit(text)
    await desk.see(shown)


async def test_shell_commands_of_the_user(tmp_path: Path) -> None:
    async with opened(tmp_path, says("I saw it.")) as desk:
        await shell(desk, "!echo out; exit 3", "(exit 3)")
        await shell(desk, "!!echo secret", "$ echo secret")
        await desk.until(lambda: not desk.face.shell.running)
        await shell(desk, "!sleep 60", "Running... (escape/ctrl+c to cancel)")
        await desk.submit("!true")
        await desk.see("A command is already running")
        desk.key("escape")
        await desk.see("(cancelled)")
        await desk.until(lambda: desk.draft == "!true")
        desk.key("ctrl+c")
        await desk.ask("what did I do?", "I saw it.")
        sent = str(desk.model.requests[0].context.messages)
        assert "echo out" in sent
        assert "secret" not in sent


async def test_a_shell_command_beside_a_run_waits_below_and_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, hangs("Endless")) as desk:
        await desk.submit("go")
        await desk.see("Endless")
        await desk.submit("!echo beside")
        await desk.see("$ echo beside")
        desk.key("escape")
        await desk.see("Operation aborted")
        await desk.until(lambda: "$ echo beside" in desk.text.partition("Operation aborted")[2])
        assert desk.text.count("$ echo beside") == 1


async def test_an_external_editor_changes_the_text(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ntr a-z A-Z < "$1" > "$1.new" && echo >> "$1.new" && mv "$1.new" "$1"\n')
    editor.chmod(0o755)
    async with opened(tmp_path, settings={"externalEditor": str(editor)}, size=(250, 30)) as desk:
        desk.type("some text")
        desk.key("ctrl+g")
        await desk.until(lambda: desk.draft == "SOME TEXT")
        editor.write_text("#!/bin/sh\nexit 1\n")
        desk.key("ctrl+g")
        await desk.until(lambda: "did not end well" in " ".join(desk.text.split()))
        await desk.until(lambda: desk.draft == "SOME TEXT")
        editor.unlink()
        desk.key("ctrl+g")
        await desk.see("Error:")


async def test_the_mouse_selects_and_copies(tmp_path: Path) -> None:
    copied: list[str] = []
    async with opened(tmp_path, says("The answer is here.")) as desk:
        desk.face.app.write = copied.append  # type: ignore[method-assign]
        await desk.ask("go", "The answer is here.")
        row = next(y for y, text in enumerate(desk.rows) if "The answer" in text)
        await desk.pilot.mouse_down("#transcript", offset=(5, row))
        await desk.pilot.hover("#transcript", offset=(10, row))
        await desk.pilot.mouse_up("#transcript", offset=(10, row))
        await desk.until(lambda: any("]52;c;YW5zd2Vy" in text for text in copied))
        for key in ("ctrl+x", "ctrl+c"):
            copied.clear()
            desk.key(key)
            await desk.until(lambda: any("]52;c;YW5zd2Vy" in text for text in copied))
        await desk.see("Copied the selection")
        assert desk.face.app.transcript_view.selection is None
