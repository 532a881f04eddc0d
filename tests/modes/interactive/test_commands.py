from __future__ import annotations

import json
from pathlib import Path

import pytest

from piolet.base.ids import now_ms
from piolet.llm.credentials.records import Credential, OAuthCredential
from piolet.llm.oauth.login import LoginUI
from piolet.modes.interactive.commands.settings import rows as setting_rows
from piolet.modes.interactive.commands.table import COMMANDS, _function
from piolet.modes.interactive.hotkeys import hotkeys
from piolet.tui.keymap import DEFAULT_KEYS, Keymap
from tests.modes.interactive.desk import OTHER, opened
from tests.support.scripted_model import MODEL, call, hangs, says


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_there(command: object) -> None:
    assert _function(command.where)  # type: ignore[attr-defined]
    assert not command.completes or _function(command.completes)  # type: ignore[attr-defined]


def test_every_key_action_has_a_description() -> None:
    all_bound = Keymap({action: (f"ctrl+alt+{number}",) for number, action in enumerate(DEFAULT_KEYS)})
    described = {keys: text for _, keys, text in hotkeys(all_bound)}
    assert [action for action in DEFAULT_KEYS if not described.get(all_bound.label(action))] == []


async def test_an_unknown_command_is_asked_about(tmp_path: Path) -> None:
    async with opened(tmp_path, says("I got it.")) as desk:
        await desk.submit("/hotkyes")
        await desk.see("Did you mean this?")
        desk.key("enter")
        await desk.see("Search:")
        desk.key("escape")
        await desk.submit("/xyzzy 1")
        await desk.see("There is no command /xyzzy.")
        await desk.not_see("Did you mean")
        desk.key("escape")
        await desk.until(lambda: desk.draft == "/xyzzy 1")
        desk.key("enter")
        await desk.see("→ Back to the editor")
        desk.key("enter")
        await desk.until(lambda: desk.draft == "/xyzzy 1")
        desk.key("enter")
        await desk.see("→ Back to the editor")
        desk.key("down", "enter")
        await desk.see("I got it.")
        assert len(desk.model.requests) == 1


async def test_a_slip_runs_nothing_before_the_user_was_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        before = desk.runtime.session
        for typed, shown, meant in (("/nw", "→ new", "new"), ("/xport", "→ export", "export"), ("/sm", "→ s", "s")):
            desk.type(typed)
            await desk.see(shown)
            desk.key("enter")
            await desk.see(f"→ Run /{meant}")
            desk.key("escape")
            await desk.until(lambda typed=typed: desk.draft == typed)  # type: ignore[misc]
            desk.key("ctrl+c")
            await desk.until(lambda: desk.draft == "")
        assert desk.runtime.session is before
        assert not list((tmp_path / "cwd").iterdir())
        for typed, meant in (("/help", "hotkeys"), ("/?", "hotkeys"), ("/exit", "quit"), ("/clear", "new")):
            await desk.submit(typed)
            await desk.see(f"→ Run /{meant}")
            desk.key("escape")
            await desk.until(lambda typed=typed: desk.draft == typed)  # type: ignore[misc]
            desk.key("ctrl+c")
            await desk.until(lambda: desk.draft == "")
        desk.type("/nw")
        await desk.see("→ new")
        desk.key("up", "down", "enter")
        await desk.see("New session started")


async def test_commands_that_cannot_be_done_now_leave_the_answer_alone_and_say_what_stops_it(tmp_path: Path) -> None:
    async with opened(tmp_path, hangs("Endless")) as desk:
        await desk.submit("go")
        await desk.see("Endless")
        await desk.submit("/compact")
        await desk.see("Nothing to compact (session too small)")
        for command, wanted in (("/new", "leave the session"), ("/tree", "open the tree"), ("/reload", "reload")):
            await desk.submit(command)
            await desk.see(f"Cannot {wanted} while a run is under way (escape stops it)")
        assert desk.runtime.session.is_streaming


async def test_a_path_is_no_command(tmp_path: Path) -> None:
    async with opened(tmp_path, says("Fine.")) as desk:
        await desk.ask("/etc/passwd is a file", "Fine.")


async def test_models_that_were_written_meanwhile_can_be_chosen(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(200, 30)) as desk:
        file = tmp_path / "home" / ".pi" / "agent" / "models.json"
        lab = {
            "baseUrl": "http://127.0.0.1:9",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "brand-new"}],
        }
        file.write_text(json.dumps({"providers": {"lab": lab}}))
        await desk.submit("/model")
        await desk.see("brand-new")
        desk.key("escape")
        await desk.not_see("Search:")
        file.write_text("{oops")
        await desk.submit("/model")
        await desk.see("models.json, line 1")


async def test_hotkeys_can_be_searched(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/hotkeys")
        await desk.see("Keys")
        desk.type("external")
        await desk.see("→ ctrl+g")
        desk.key("escape")
        await desk.not_see("Search:")


async def test_name_session_and_title(tmp_path: Path) -> None:
    async with opened(tmp_path, says("Hi.")) as desk:
        await desk.submit("/name  My work ")
        await desk.see("Session name: My work")
        await desk.see("cwd • My work")
        await desk.submit("/session")
        await desk.see("Tool calls")
        await desk.not_see("in memory")


async def test_model_by_name_by_list_and_by_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/model test/scripted-2")
        await desk.see("Model: scripted-2 (thinking: ")
        await desk.submit("/model scripted")
        await desk.until(lambda: desk.draft == "/model test/scripted-1")
        desk.key("ctrl+c")
        await desk.submit("/model two")
        await desk.see("Search: two")
        desk.key("backspace", "backspace", "backspace")
        await desk.see("→ ✓ scripted-2")
        desk.key("down", "enter")
        await desk.see("Model: scripted-1")
        desk.key("ctrl+l")
        await desk.see("→ ✓ scripted-1")
        desk.key("escape", "ctrl+p")
        await desk.see("Switched to Scripted two")
        desk.key("shift+ctrl+p")
        await desk.see("(auto)                                                                          scripted-1")


async def test_the_default_model_is_saved(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/model")
        await desk.see("Search:")
        desk.key("down", "ctrl+s")
        await desk.see("default from now on")
        settings = json.loads((tmp_path / "home/.pi/agent/settings.json").read_text())
        assert (settings["defaultProvider"], settings["defaultModel"]) == ("test", "scripted-2")


async def test_thinking_levels(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/model test/scripted-2")
        await desk.see("scripted-2 • thinking off")
        await desk.submit("/thinking high")
        await desk.see("Thinking level: high")
        await desk.submit("/thinking wild")
        await desk.see("it has: off, minimal, low, medium, high")
        await desk.submit("/thinking")
        await desk.see("→ ✓ high")
        desk.key("up", "ctrl+s")
        await desk.see("scripted-2 • medium")
        assert desk.runtime.services.settings.default_thinking_level == "medium"
        desk.key("shift+tab")
        await desk.see("scripted-2 • high")


async def test_scoped_models(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/scoped-models")
        await desk.see("✗ scripted-1")
        desk.key("enter")
        await desk.see("✓ scripted-1")
        desk.key("down", "enter")
        await desk.see("✓ scripted-2")
        desk.key("alt+up", "alt+down", "alt+up", "ctrl+s")
        await desk.until(
            lambda: desk.runtime.services.settings.enabled_models == ["test/scripted-2", "test/scripted-1"]
        )
        desk.key("ctrl+x")
        await desk.see("✗ scripted-2")
        desk.key("ctrl+a")
        await desk.see("✓ scripted-2")
        desk.key("ctrl+p")
        await desk.see("✗ scripted-2")
        desk.key("ctrl+p", "escape")
        await desk.see("2 scoped models")
        await desk.submit("/model")
        await desk.see("◉ Scoped | ○ All")
        desk.key("tab")
        await desk.see("○ Scoped | ◉ All")
        desk.key("escape")


async def test_new_fork_and_clone(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), says("Two.")) as desk:
        await desk.ask("first", "One.")
        await desk.ask("second", "Two.")
        before = desk.runtime.session.session.id
        await desk.submit("/clone")
        await desk.see("Cloned to new session")
        assert desk.runtime.session.session.id != before
        await desk.see("Two.")
        await desk.submit("/fork")
        await desk.see("Message 2 of 2")
        await desk.see("→ second")
        desk.key("enter")
        await desk.see("Forked to new session")
        await desk.not_see("Two.")
        await desk.until(lambda: desk.draft == "second")
        desk.key("ctrl+c")
        await desk.submit("/new")
        await desk.see("New session started")
        await desk.not_see("One.")
        await desk.submit("/fork")
        await desk.see("No messages to fork from")


async def test_a_session_is_not_left_while_its_model_is_at_work(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), hangs("Endless")) as desk:
        await desk.ask("first", "One.")
        await desk.submit("go")
        await desk.see("Endless")
        for command in ("/new", "/clone", "/fork", "/reload"):
            await desk.submit(command)
            if command == "/fork":
                await desk.see("Fork from message")
                desk.key("enter")
            await desk.see("Error: ")
            desk.face.presenter.show_session([])
            await desk.not_see("Error: ")
        assert desk.runtime.session.is_streaming


async def test_resume_lists_searches_renames_deletes_and_opens(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), says("Two.")) as desk:
        await desk.ask("first", "One.")
        await desk.submit("/new")
        await desk.see("New session started")
        await desk.ask("second", "Two.")
        await desk.submit("/resume")
        await desk.see("◉ Current Folder | ○ All")
        await desk.see("(1/2)")
        desk.key("down", "ctrl+r")
        await desk.see("Name of the session")
        desk.type("Old")
        desk.key("enter")
        await desk.see("› Old")
        desk.key("ctrl+n")
        await desk.see("Name: Named")
        await desk.see("(1/1)")
        desk.key("ctrl+n", "tab")
        await desk.see("○ Current Folder | ◉ All")
        desk.key("tab", "ctrl+p")
        await desk.see(".jsonl")
        await desk.see(" Old")
        desk.key("ctrl+p")
        await desk.not_see(".jsonl")
        desk.key("ctrl+s")
        await desk.see("Sort: Recent")
        desk.type("first")
        await desk.see("(1/1)")
        desk.key("enter")
        await desk.see("Resumed session")
        await desk.see("One.")
        assert desk.runtime.session.session.name == "Old"
        await desk.submit("/resume")
        await desk.see("(1/2)")
        if "› Old" not in desk.text:
            desk.key("down")
            await desk.see("› Old")
        desk.key("ctrl+d")
        await desk.see("The session that is open cannot be deleted")
        desk.key("down", "ctrl+d")
        await desk.see("Enter deletes it")
        desk.key("escape")
        await desk.not_see("Enter deletes it")
        desk.key("ctrl+backspace")
        await desk.see("Enter deletes it")
        desk.key("enter")
        await desk.see("(1/1)")
        desk.key("escape")


async def test_tree_goes_back_with_a_summary(tmp_path: Path) -> None:
    replies = says("One.", call("bash", command="true")), says("Done."), says("Two."), says("A summary of two.")
    async with opened(tmp_path, *replies) as desk:
        await desk.ask("first", "Done.")
        await desk.ask("second", "Two.")
        await desk.submit("/tree")
        await desk.see("› • assistant: Two.")
        desk.key("shift+l")
        await desk.see("Label")
        desk.type("here")
        desk.key("enter")
        await desk.see("[here] assistant: Two.")
        desk.key("ctrl+l")
        await desk.see("[labeled-only]")
        desk.key("ctrl+d")
        await desk.see("[bash: true]")
        desk.key("ctrl+t")
        await desk.not_see("[bash: true]")
        desk.key("ctrl+t", "up")
        await desk.see("› • user: second")
        desk.key("enter")
        await desk.see("Summarize branch?")
        desk.key("escape")
        await desk.see("› • user: second")
        desk.key("enter")
        await desk.see("Summarize branch?")
        desk.key("down", "enter")
        await desk.see("Navigated to selected point")
        await desk.see("[branch] Branch summary (ctrl+o to expand)")
        await desk.until(lambda: desk.draft == "second")
        desk.key("ctrl+o")
        await desk.see("A summary of two.")


async def test_the_summary_of_a_branch_has_a_prompt_of_its_own_and_can_be_cancelled(tmp_path: Path) -> None:
    replies = says("One."), says("Two."), hangs("Never"), says("About tests.")
    async with opened(tmp_path, *replies) as desk:
        await desk.ask("first", "One.")
        await desk.ask("second", "Two.")
        for ending in ("cancelled", "done"):
            await desk.submit("/tree")
            await desk.see("› • assistant: Two.")
            desk.key("up")
            await desk.see("› • user: second")
            desk.key("enter")
            await desk.see("Summarize branch?")
            desk.key("down", "down", "enter")
            await desk.see("What should the summary dwell on?")
            desk.key("escape")
            await desk.see("Summarize branch?")
            desk.key("down", "down", "enter")
            await desk.see("What should the summary dwell on?")
            desk.type("the tests")
            desk.key("enter")
            if ending == "cancelled":
                await desk.see("Summarizing branch... (escape to cancel)")
                await desk.until(lambda: len(desk.model.requests) == 3)
                desk.key("escape")
                await desk.see("Branch summary cancelled")
                await desk.see("Two.")
                assert desk.draft == ""
        await desk.see("[branch] Branch summary")
        await desk.until(lambda: desk.draft == "second")
        assert "the tests" in str(desk.model.requests[-1].context.messages)


async def test_the_tree_asks_nothing_where_nothing_is_left_behind_or_a_setting_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One."), settings={"branchSummary": {"skipPrompt": True}}) as desk:
        await desk.ask("first", "One.")
        await desk.submit("/tree")
        await desk.see("› • assistant: One.")
        desk.key("enter")
        await desk.see("Already at this point")
        await desk.submit("/tree")
        await desk.see("› • assistant: One.")
        desk.key("up", "enter")
        await desk.see("Navigated to selected point")
        await desk.until(lambda: desk.draft == "first")
        assert len(desk.model.requests) == 1


async def test_compact(tmp_path: Path) -> None:
    long = "word " * 4_000
    replies = says(long), says("Two. " * 100), says("The summary."), says("The summary.")
    settings = {"compaction": {"keepRecentTokens": 100}}
    async with opened(tmp_path, *replies, settings=settings) as desk:
        await desk.submit("/compact")
        await desk.see("Nothing to compact")
        await desk.ask("first", "word")
        await desk.ask("second", "Two.")
        await desk.submit("/compact about words")
        await desk.see("[compaction] Compacted from")
        assert any("about words" in str(request.context.messages) for request in desk.model.requests)


async def test_export_and_import(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One.")) as desk:
        await desk.ask("first", "One.")
        await desk.submit('/export "a b.jsonl"')
        await desk.see("Session exported to:")
        exported = tmp_path / "cwd" / "a b.jsonl"
        assert exported.exists()
        await desk.submit("/export page.html")
        await desk.until(lambda: (tmp_path / "cwd" / "page.html").exists())
        await desk.submit("/new")
        await desk.see("New session started")
        await desk.submit('/import "a b.jsonl"')
        await desk.see("Import session")
        await desk.until(lambda: "a b.jsonl is opened." in " ".join(desk.text.split()))
        await desk.not_see("/resume leads back")
        desk.key("enter")
        await desk.see("Session imported from")
        await desk.see("One.")
        await desk.submit('/import "a b.jsonl"')
        await desk.see("/resume leads back to it.")
        desk.key("escape")
        await desk.submit("/import missing.jsonl")
        await desk.see("Error: There is no file")


async def test_login_with_a_key_and_logout(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/login anthropic")
        await desk.see("API key for anthropic")
        desk.type("secret")
        await desk.see("••••••")
        desk.key("enter")
        await desk.see("Stored the key for anthropic")
        auth = tmp_path / "home/.pi/agent/auth.json"
        assert json.loads(auth.read_text())["anthropic"]["key"] == "secret"
        await desk.submit("/login")
        await desk.see("Sign in with an API key")
        desk.key("down", "enter")
        await desk.see("• not configured")
        desk.key("escape")
        await desk.see("Sign in with an API key")
        desk.key("escape")
        await desk.not_see("Sign in with an API key")
        await desk.submit("/logout")
        await desk.see("Log out of")
        desk.key("enter")
        await desk.see("Removed the stored credentials for anthropic")
        assert json.loads(auth.read_text()) == {}
        await desk.not_see("secret")


async def test_after_logout_no_model_of_the_provider_is_selected_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    agent = tmp_path / "home/.pi/agent"
    agent.mkdir(parents=True)
    (agent / "auth.json").write_text('{"xai": {"type": "api_key", "key": "secret"}}')
    async with opened(tmp_path) as desk:
        [model, *_] = (one for one in desk.runtime.services.models.get_available() if one.provider == "xai")
        await desk.runtime.session.set_model("xai", model.id)
        await desk.see(model.id)
        await desk.submit("/logout xai")
        await desk.see(f"{model.key} can be used no longer. Removed the stored credentials for xai")
        await desk.until(lambda: model.id not in desk.rows[-1])
        await desk.submit("go")
        await desk.see("Error: No model is selected: /model chooses one.")
        await desk.until(lambda: desk.draft == "go")
        desk.key("ctrl+c")
        await desk.submit("/model test/scripted-1")
        await desk.until(lambda: "scripted-1" in desk.rows[-1])


class FakeLogin:
    """A login that shows an address and a code, asks for a word and ends."""

    name = "Fake"

    async def login(self, ui: LoginUI) -> Credential:
        ui.show_url("https://login.example/start")
        ui.show_code("ABCD-1234", "https://login.example/start")
        word = await ui.ask("Which word?")
        ui.progress("Thank you")
        return OAuthCredential(access=word, refresh="r", expires=now_ms() + 3_600_000)

    async def renew(self, credential: OAuthCredential) -> OAuthCredential:
        return credential


async def test_login_with_an_account_and_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.runtime.services.models.register_provider("fake", models=[MODEL], login=FakeLogin())
        for word, end in (("sesame", "Logged in to fake"), (None, "Login cancelled")):
            await desk.submit("/login fake")
            await desk.see("https://login.example/start")
            await desk.see("ABCD-1234")
            await desk.see("Which word?")
            if word is None:
                desk.key("escape")
            else:
                desk.type(word)
                desk.key("enter")
            await desk.see(end)
            await desk.not_see("ABCD-1234")
        auth = json.loads((tmp_path / "home/.pi/agent/auth.json").read_text())
        assert auth["fake"]["access"] == "sesame"


async def test_a_session_whose_folder_is_gone_goes_on_here_or_as_a_copy(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    header = {"type": "session", "version": 3, "id": "lost", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(gone)}
    message = {"role": "user", "content": "a lost prompt", "timestamp": 1}
    entry = {"type": "message", "id": "1", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z"}
    file = tmp_path / "lost.jsonl"
    file.write_text(json.dumps(header) + "\n" + json.dumps(entry | {"message": message}) + "\n")
    async with opened(tmp_path) as desk:
        for keys, is_copy in ((["enter"], False), (["down", "enter"], True)):
            await desk.submit(f"/import {file}")
            await desk.see("Import session")
            desk.key("enter")
            await desk.see("The session's folder is gone")
            desk.key(*keys)
            await desk.see("Session imported from")
            await desk.see("a lost prompt")
            assert desk.runtime.services.cwd == tmp_path / "cwd"
            assert (desk.runtime.session.session.id != "lost") is is_copy
            await desk.submit("/new")
            await desk.see("New session started")
        assert file.read_text().count("\n") == 2


async def test_what_is_new_is_told_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.not_see("What's New")
    async with opened(
        tmp_path, settings={"piolet": {"lastChangelogVersion": "0.0.1"}, "collapseChangelog": True}
    ) as desk:
        await desk.see("What's New")
    async with opened(tmp_path) as desk:
        await desk.not_see("What's New")


async def test_trust_is_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/trust")
        await desk.see("Stored: no decision")
        desk.key("enter")
        await desk.see("It counts from the next start on")
        stored = json.loads((tmp_path / "home/.pi/agent/trust.json").read_text())
        assert stored == {str((tmp_path / "cwd").resolve()): True}


async def test_settings_are_changed_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/settings")
        await desk.see("Auto-compact")
        desk.type("hide")
        await desk.see("→ Hide thinking")
        desk.key("enter")
        await desk.until(lambda: desk.runtime.services.settings.hide_thinking_block)
        assert json.loads((tmp_path / "home/.pi/agent/settings.json").read_text())["hideThinkingBlock"] is True
        assert desk.face.app.transcript_view.transcript.frame.mermaid == "streaming"
        desk.key(*["backspace"] * 4)
        desk.type("mermaid")
        await desk.see("→ Mermaid diagrams")
        desk.key("enter")
        await desk.until(lambda: desk.face.app.transcript_view.transcript.frame.mermaid == "off")
        desk.key("escape")
        await desk.not_see("Search:")


async def test_a_theme_is_seen_before_it_is_chosen(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.submit("/settings")
        await desk.see("Auto-compact")
        desk.type("theme")
        await desk.see("→ Theme...")
        desk.key("enter")
        await desk.see("→ ✓ system")
        desk.key("down", "down", "down")
        await desk.until(lambda: desk.face.looks.theme.name == "light")
        desk.key("escape")
        await desk.until(lambda: desk.face.looks.theme.name == "system")
        desk.key("enter")
        await desk.see("→ ✓ system")
        desk.key("down", "down", "down", "enter")
        await desk.until(lambda: desk.runtime.services.settings.theme == "light")
        assert desk.face.looks.theme.name == "light"


async def test_reload_reads_everything_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        agent = tmp_path / "home/.pi/agent"
        (agent / "prompts").mkdir()
        (agent / "prompts" / "greet.md").write_text("Say hello to $1")
        (agent / "keybindings.json").write_text('{"app.tools.expand": "ctrl+e"}')
        await desk.submit("/reload")
        await desk.see("Reloaded")
        await desk.see("[Prompts]")
        await desk.see("/greet")
        await desk.see("ctrl+e more")


async def test_changelog_copy_debug_and_quit(tmp_path: Path) -> None:
    async with opened(tmp_path, says("One.")) as desk:
        await desk.submit("/changelog")
        await desk.until(lambda: "hangelog" in desk.text)
        await desk.submit("/copy")
        await desk.see("There is no answer to copy yet")
        await desk.ask("first", "One.")
        await desk.submit("/copy")
        await desk.see("Copied the last answer")
        await desk.submit("/debug")
        await desk.see("Debug log written")
        log = tmp_path / "home/.pi/agent/piolet-debug.log"
        assert "One." in log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600
        await desk.submit("/quit")
        await desk.until(lambda: desk.face.app.return_value == 0)


async def test_every_setting_is_stored_as_soon_as_it_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "home/.pi/agent/settings.json"
    async with opened(tmp_path) as desk:
        rows = [row.label for row in setting_rows(desk.face)]
        await desk.submit("/settings")
        await desk.see("→ Auto-compact")
        for label in rows:
            await desk.see(f"→ {label}")
            if not label.endswith("..."):
                before = path.read_text() if path.exists() else ""
                desk.key("enter")
                await desk.until(lambda before=before: path.exists() and path.read_text() != before)  # type: ignore[misc]
            desk.key("down")
        await desk.see("→ Auto-compact")
    assert len(json.loads(path.read_text())) > 10


async def test_levels_of_thinking_are_chosen_for_each_model(tmp_path: Path) -> None:
    default = {"defaultProvider": "test", "defaultModel": "scripted-2"}
    async with opened(tmp_path, model=OTHER, settings=default) as desk:
        await desk.submit("/settings")
        await desk.see("→ Auto-compact")
        desk.type("per model")
        await desk.see("→ Default thinking level per model...")
        desk.key("enter")
        await desk.see("Thinking level of new sessions with test/scripted-2")
        desk.key("down", "down", "enter")
        await desk.not_see("Thinking level of new sessions")
        settings = json.loads((tmp_path / "home/.pi/agent/settings.json").read_text())
        assert settings["modelThinkingLevels"] == {"test/scripted-2": "minimal"}
        desk.key("escape")
        await desk.submit("/new")
        await desk.see("scripted-2 • minimal")
