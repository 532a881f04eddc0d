from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piolet.app import RuntimeOptions
from piolet.app.environment import choice, first_choice
from piolet.app.settings import SettingsError
from piolet.app.settings_files import SettingsFiles
from piolet.app.settings_spelling import misspelled


def start(root: Path, text: str, environment: str | None = None) -> str:
    """Return where tools would act with this text in the user's file."""
    agent = root / "agent"
    agent.mkdir(exist_ok=True)
    (agent / "settings.json").write_text(text)
    files = SettingsFiles(agent, root, project_trusted=False)
    return first_choice(RuntimeOptions(root, agent, environment=environment), files)


@pytest.mark.parametrize(
    "values",
    [
        {"piolet.environment": "sandbox"},
        {"Piolet.Environment": "sandbox"},
        {"piloet.environment": "sandbox"},
        {"piolet": "sandbox"},
        {"piolet": None},
        {"Piolet": {"environment": "sandbox"}},
        {"piloet": {"environment": "sandbox"}},
        {"piolet": {"Environment": "sandbox"}},
        {"piolet": {"enviroment": "sandbox"}},
        {"piolet": {"env": "docker:x"}},
        {"piolet": {"sandbox": True}},
        {"piolet": {"place": "ssh:x"}},
        {"environment": "sandbox"},
        {"piolet": {"environment": ""}},
    ],
)
def test_a_sandbox_that_is_written_wrongly_is_told_in_place_of_a_start_without(tmp_path: Path, values: Any) -> None:
    with pytest.raises(SettingsError, match=r"environment"):
        start(tmp_path, json.dumps(values))
    assert start(tmp_path, json.dumps(values), "local") == "local"


@pytest.mark.parametrize(
    "text",
    ['{"piolet":{"env', '{"piolet": {"e', "{'piolet': {'environment': 'sandbox'}}", '{"Piolet": {', '{"a" 1, "env": 1'],
)
def test_a_broken_file_that_may_speak_of_a_place_stops_the_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="It may say where tools act"):
        start(tmp_path, text)
    assert start(tmp_path, text, "local") == "local"


def test_a_broken_file_of_other_things_is_only_told(tmp_path: Path) -> None:
    assert start(tmp_path, '{"piolet": {"lastChangelogVersion": "1"}, "theme" "dark"}') == "local"


def test_an_environment_that_is_named_as_nothing_is_not_this_machine(tmp_path: Path) -> None:
    files = SettingsFiles(tmp_path, tmp_path, project_trusted=False)
    assert choice(RuntimeOptions(tmp_path, tmp_path, environment=""), files.settings) == ""


def test_a_file_that_was_cut_off_and_a_link_to_nowhere_are_told(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("")
    files = SettingsFiles(tmp_path, tmp_path, project_trusted=False)
    assert files.problems == []
    assert [doubt.message for doubt in files.doubts] == [f"{file} is empty; without settings it holds {{}}"]
    file.unlink()
    file.symlink_to(tmp_path / "away")
    files = SettingsFiles(tmp_path, tmp_path, project_trusted=False)
    (problem,) = files.problems
    assert "a link that leads nowhere" in problem.message
    with pytest.raises(SettingsError, match="It may say where tools act"):
        first_choice(RuntimeOptions(tmp_path, tmp_path), files)


@pytest.mark.parametrize(
    ("values", "written", "meant"),
    [
        ({"piolet": {"catalogURL": ""}}, "piolet.catalogURL", '{"piolet": {"catalogUrl": ...}}'),
        ({"compaction.enabled": False}, "compaction.enabled", '{"compaction": {"enabled": ...}}'),
        ({"terminal.showimages": 1}, "terminal.showimages", '{"terminal": {"showImages": ...}}'),
        ({"animations": False}, "animations", '{"piolet": {"animations": ...}}'),
    ],
)
def test_a_setting_that_nothing_reads_is_told_with_the_right_spelling(
    values: dict[str, Any], written: str, meant: str
) -> None:
    assert [str(key) for key in misspelled(values)] == [f'"{written}" is no setting; did you mean {meant}?']


def test_an_unknown_setting_within_piolet_is_told() -> None:
    assert [str(key) for key in misspelled({"piolet": {"zz": 1}})] == [
        '"piolet.zz" is no setting and counts for nothing'
    ]


def test_what_is_no_setting_of_piolet_is_left_alone() -> None:
    values = {
        "trackingId": "x",
        "a.b": 1,
        "terminal": {"new": 1},
        "pilot": {"env": "x"},
        "piolet": {"environment": "sandbox", "animations": False, "lastChangelogVersion": "1"},
    }
    assert list(misspelled(values)) == []
