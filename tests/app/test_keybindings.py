from __future__ import annotations

import json
from pathlib import Path

from piolet.app.keybindings import OLD_NAMES, lay_over, load_keybindings, migrate_names, this_platform
from piolet.tui.keymap import DEFAULT_KEYS, default_keys


def test_every_old_name_leads_to_an_action() -> None:
    assert len(OLD_NAMES) == 59
    assert set(OLD_NAMES.values()) <= set(DEFAULT_KEYS)


def test_a_bad_value_leaves_the_default_and_is_told() -> None:
    bindings = lay_over({"app.exit": ["ctrl+q", "BAD"], "app.clear": 3, "app.nope": "f1", "$schema": "x"})
    assert bindings.keys == default_keys()
    assert [notice.split(": ")[1].split(" ")[0] for notice in bindings.notices] == ["app.exit", "app.clear", "there"]


def test_a_key_may_serve_several_actions() -> None:
    keys = lay_over({"tui.editor.undo": "ctrl+k"}).keys
    assert keys["tui.editor.undo"] == keys["tui.editor.deleteToLineEnd"] == ("ctrl+k",)


def test_old_names_give_way_to_new_ones() -> None:
    assert migrate_names({"zzz": 1, "undo": "f1", "selectModel": "f2", "app.model.select": "f3"}) == {
        "tui.editor.undo": "f1",
        "app.model.select": "f3",
        "zzz": 1,
    }


def test_a_file_with_old_names_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "keybindings.json"
    path.write_text('{"other": 1, "undo": "f1"}', encoding="utf-8")
    assert load_keybindings(tmp_path).keys["tui.editor.undo"] == ("f1",)
    assert list(json.loads(path.read_text("utf-8"))) == ["tui.editor.undo", "other"]


def test_a_file_without_old_names_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "keybindings.json"
    path.write_text('{"zzz": 1,   "app.exit": []}', encoding="utf-8")
    assert load_keybindings(tmp_path).keys["app.exit"] == ()
    assert path.read_text("utf-8") == '{"zzz": 1,   "app.exit": []}'


def test_a_broken_file_leaves_the_defaults(tmp_path: Path) -> None:
    assert load_keybindings(tmp_path).notices == []
    (tmp_path / "keybindings.json").write_text("[", encoding="utf-8")
    bindings = load_keybindings(tmp_path, this_platform({"WSL_DISTRO_NAME": "Debian"}))
    assert bindings.keys == default_keys("wsl")
    assert "keybindings.json cannot be used: it is no valid JSON (line 1, " in bindings.notices[0]
    assert bindings.notices[0].endswith(". Repair it, or move it away")
