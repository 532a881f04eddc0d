from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from piolet.app.settings import Settings, SettingsError
from piolet.app.settings_files import SettingsFiles


def open_files(root: Path, *, trusted: bool = True) -> SettingsFiles:
    return SettingsFiles(root / "agent", root / "proj", project_trusted=trusted)


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_writing_changes_only_the_touched_key(tmp_path: Path) -> None:
    path = put(tmp_path, "agent/settings.json", '{"zzz": {"a": 1.5}, "terminal": {"x": 1}, "theme": "dark"}')
    files = open_files(tmp_path)
    files.set(Settings.show_images, False)
    assert path.read_text(encoding="utf-8") == json.dumps(
        {"zzz": {"a": 1.5}, "terminal": {"x": 1, "showImages": False}, "theme": "dark"}, indent=2
    )
    assert files.settings.show_images is False


def test_another_process_change_is_kept(tmp_path: Path) -> None:
    path = put(tmp_path, "agent/settings.json", '{"theme": "dark"}')
    files = open_files(tmp_path)
    put(tmp_path, "agent/settings.json", '{"theme": "dark", "defaultModel": "other"}')
    files.set(Settings.theme, "light")
    assert json.loads(path.read_bytes()) == {"theme": "light", "defaultModel": "other"}
    assert files.settings.default_model == "other"


def test_none_removes_a_key(tmp_path: Path) -> None:
    path = put(tmp_path, "agent/settings.json", '{"theme": "dark", "x": 1}')
    files = open_files(tmp_path)
    files.set(Settings.theme, None)
    files.write(["nowhere", "at", "all"], None)
    assert json.loads(path.read_bytes()) == {"x": 1}


def test_a_model_id_with_dots_is_one_key(tmp_path: Path) -> None:
    files = open_files(tmp_path)
    files.write(["modelThinkingLevels", "openai/gpt-4.1"], "high")
    assert files.settings.model_thinking_levels == {"openai/gpt-4.1": "high"}


def test_numbers_are_clamped_when_written(tmp_path: Path) -> None:
    files = open_files(tmp_path)
    files.set(Settings.editor_padding_x, 9)
    files.set(Settings.autocomplete_max_visible, 1)
    assert files.settings.user == {"editorPaddingX": 3, "autocompleteMaxVisible": 3}


def test_a_broken_file_is_reported_and_never_overwritten(tmp_path: Path) -> None:
    path = put(tmp_path, "agent/settings.json", "{ not json")
    files = open_files(tmp_path)
    assert [problem.scope for problem in files.problems] == ["user"]
    assert str(path) in files.problems[0].message
    with pytest.raises(SettingsError, match="was not written"):
        files.set(Settings.theme, "dark")
    assert path.read_text(encoding="utf-8") == "{ not json"


@pytest.mark.parametrize("text", ["[]", "3", "null", '{"a": NaN}', "[" * 100_000, '{"a": "\xff'])
def test_what_is_no_json_object_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/settings.json").write_bytes(text.encode("latin-1"))
    files = open_files(tmp_path)
    assert files.settings.merged == {}
    assert len(files.problems) == 1


def test_why_a_file_cannot_be_used_is_said_in_plain_words(tmp_path: Path) -> None:
    file = put(tmp_path, "agent/settings.json", "")

    def problem() -> str:
        (problem,) = open_files(tmp_path).problems
        assert problem.message.endswith(". Repair it, or move it away")
        return problem.message.removeprefix(f"{file} cannot be used: ").removesuffix(". Repair it, or move it away")

    file.write_text('{"a": 1,\n "b" 2}')
    assert problem() == "it is no valid JSON (line 2, column 6: expecting ':' delimiter)"
    with pytest.raises(SettingsError, match=r"not written: it is no valid JSON \(line 2.*Repair it, or move it away"):
        open_files(tmp_path).set(Settings.theme, "dark")
    file.write_bytes(b'{"a": "\xff"}')
    assert problem() == "it is no UTF-8 (byte 8)"
    file.unlink()
    file.mkdir()
    assert problem() == "Is a directory"
    file.rmdir()
    file.symlink_to("/dev/zero")
    assert problem() == "it is no regular file"
    file.unlink()
    os.mkfifo(file)
    assert problem() == "it is no regular file"


def test_an_untrusted_project_is_neither_read_nor_written(tmp_path: Path) -> None:
    put(tmp_path, "proj/.pi/settings.json", "{ broken")
    files = open_files(tmp_path, trusted=False)
    assert files.problems == []
    with pytest.raises(SettingsError, match="not trusted"):
        files.set(Settings.theme, "dark", "project")


def test_project_settings_keep_the_mode_of_their_file(tmp_path: Path) -> None:
    path = put(tmp_path, "proj/.pi/settings.json", "{}")
    path.chmod(0o664)
    open_files(tmp_path).set(Settings.theme, "dark", "project")
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_the_users_file_is_private_and_a_link_to_it_stays(tmp_path: Path) -> None:
    target = put(tmp_path, "dotfiles/settings.json", "{}")
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/settings.json").symlink_to(target)
    open_files(tmp_path).set(Settings.theme, "dark")
    assert (tmp_path / "agent/settings.json").is_symlink()
    assert json.loads(target.read_bytes()) == {"theme": "dark"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_held_lock_is_said_and_nothing_written(tmp_path: Path) -> None:
    files = open_files(tmp_path)
    (tmp_path / "agent/settings.json.lock").mkdir(parents=True)
    with pytest.raises(SettingsError, match="in use by another process"):
        files.set(Settings.theme, "dark")
    assert not (tmp_path / "agent/settings.json").exists()


@pytest.mark.parametrize("half", ["", '{"theme"'])
def test_a_file_that_another_program_is_writing_in_place_is_read_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: str
) -> None:
    monkeypatch.setattr("piolet.base.dirlock.READER_PATIENCE", 60)
    file = put(tmp_path, "agent/settings.json", half)
    lock = file.with_name("settings.json.lock")
    lock.mkdir()

    def finish() -> None:
        file.write_text('{"theme": "mine"}')
        lock.rmdir()

    writer = threading.Timer(0.05, finish)
    writer.start()
    files = open_files(tmp_path)
    writer.join()
    assert files.problems == []
    assert files.settings.theme == "mine"


def test_old_keys_are_replaced_by_a_write(tmp_path: Path) -> None:
    path = put(tmp_path, "agent/settings.json", '{"skills": {"enableSkillCommands": false}, "queueMode": "all"}')
    open_files(tmp_path).set(Settings.follow_up_mode, "all")
    assert json.loads(path.read_bytes()) == {
        "enableSkillCommands": False,
        "steeringMode": "all",
        "followUpMode": "all",
    }


def test_lone_surrogates_survive_a_write(tmp_path: Path) -> None:
    path = put(tmp_path, "agent/settings.json", '{"x": "\\ud83d", "y": "日本"}')
    open_files(tmp_path).set(Settings.theme, "dark")
    assert json.loads(path.read_bytes()) == {"x": "\ud83d", "y": "日本", "theme": "dark"}


def test_writers_in_several_processes_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from piolet.app.settings_files import SettingsFiles\n"
        "from piolet.app.settings import SettingsError\n"
        "root, name = Path(sys.argv[1]), sys.argv[2]\n"
        "files = SettingsFiles(root / 'agent', root / 'proj', project_trusted=False)\n"
        "for index in range(20):\n"
        "    for _ in range(50):\n"
        "        try:\n"
        "            files.write([name, str(index)], index)\n"
        "            break\n"
        "        except SettingsError:\n"
        "            time.sleep(0.01)\n"
    )
    path = Path(__file__).parents[2] / "src"
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], env={"PYTHONPATH": str(path)})
        for name in ("one", "two", "three")
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    values = json.loads((tmp_path / "agent/settings.json").read_bytes())
    assert {name: len(items) for name, items in values.items()} == {"one": 20, "two": 20, "three": 20}
