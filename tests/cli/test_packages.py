"""``piolet install`` and its like, with a wheel and a git repository on this disk."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from piolet.app.packages.manager import PackageManager
from piolet.app.packages.sources import PackageError
from piolet.app.resources.resolve import Places
from piolet.app.settings_files import SettingsFiles
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer
from tests.support.terminal import Terminal

SKILL = "---\nname: knots\ndescription: Ties knots.\n---\nTie them.\n"


@pytest.fixture
def repository(tmp_path: Path) -> dict[str, str]:
    """A repository with a skill; returns the variables that make git find it at https://git.example/team/knots."""
    root = tmp_path / "repositories" / "team" / "knots"
    (root / "skills" / "knots").mkdir(parents=True)
    (root / "skills" / "knots" / "SKILL.md").write_text(SKILL)
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run([*git, *command], check=True)
    (root / "skills" / "knots" / "SKILL.md").write_text(SKILL.replace("Ties knots", "Ties better knots"))
    subprocess.run([*git, "commit", "-qam", "two"], check=True)
    return {
        "PI_OFFLINE": "",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": f"url.{tmp_path / 'repositories'}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://git.example/",
        "GIT_CONFIG_KEY_1": "safe.directory",
        "GIT_CONFIG_VALUE_1": "*",
    }


@pytest.fixture
def wheels(tmp_path: Path) -> dict[str, str]:
    """A folder with a wheel of the package `pi-ropes`; returns the variables that make pip look there alone."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "pi_ropes-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("pi_ropes/__init__.py", "")
        wheel.writestr("pi_ropes/pi.toml", 'prompts = ["prompts"]\n')
        wheel.writestr("pi_ropes/prompts/splice.md", "Splice $1.\n")
        info = "pi_ropes-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: pi-ropes\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return {"PI_OFFLINE": "", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def _settings(place: Place) -> dict[str, object]:
    return dict(json.loads((place.agent / "settings.json").read_text()))


def _commands(place: Place, *words: str) -> list[str]:
    """The names that the RPC mode lists."""
    done = place.run("--mode", "rpc", "--no-session", *words, stdin='{"id":"1","type":"get_commands"}\n')
    (response,) = (record for record in done.records if record.get("id") == "1")
    return [command["name"] for command in response["data"]["commands"]]


def test_a_git_package_is_fetched_used_and_removed_without_trace(place: Place, repository: dict[str, str]) -> None:
    before = sorted(place.agent.rglob("*")) if place.agent.exists() else []
    done = place.run("install", "git:git.example/team/knots", env=repository)
    assert (done.exit, done.stderr) == (0, "")
    assert _settings(place)["packages"] == ["git:git.example/team/knots"]
    assert "skill:knots" in _commands(place)
    assert place.run("remove", "git:git.example/team/knots").exit == 0
    assert [path for path in place.agent.rglob("*") if path not in before] == []


def test_a_pinned_ref_is_checked_out_and_never_moved(place: Place, repository: dict[str, str]) -> None:
    place.run("install", "git:git.example/team/knots@v1", env=repository)
    skill = place.agent / "git" / "git.example" / "team" / "knots" / "skills" / "knots" / "SKILL.md"
    assert "Ties knots" in skill.read_text()
    assert place.run("update", "--extensions", env=repository).exit == 0
    assert "Ties knots" in skill.read_text()
    assert "pinned" in place.run("list").stdout


def test_an_update_brings_what_is_new(place: Place, repository: dict[str, str]) -> None:
    place.run("install", "git:git.example/team/knots@v1", env=repository)
    place.run("install", "git:git.example/team/knots", env=repository)
    skill = place.agent / "git" / "git.example" / "team" / "knots" / "skills" / "knots" / "SKILL.md"
    assert "Ties better knots" in skill.read_text()
    assert _settings(place)["packages"] == ["git:git.example/team/knots"]
    skill.write_text("damaged")
    assert "Updated" in place.run("update", "git:git.example/team/knots", env=repository).stdout
    assert "Ties better knots" in skill.read_text()


def test_a_wheel_is_installed_with_its_resources_and_works_offline_afterwards(
    place: Place, wheels: dict[str, str]
) -> None:
    done = place.run("install", "pypi:pi-ropes==1.0", env=wheels, timeout=60)
    assert (done.exit, done.stderr) == (0, "")
    assert "splice" in _commands(place)
    assert (place.agent / "pypi" / ".gitignore").read_text() == "*\n!.gitignore\n"


def test_a_repository_of_this_machine_is_installed_with_a_tag_even_offline(
    place: Place, repository: dict[str, str], tmp_path: Path
) -> None:
    offline = repository | {"PI_OFFLINE": "1"}
    source = f"git:file://{tmp_path}/repositories/team/knots"
    done = place.run("install", f"{source}@v1", env=offline)
    assert (done.exit, done.stderr) == (0, "")
    assert _settings(place)["packages"] == [f"{source}@v1"]
    assert "skill:knots" in _commands(place)
    failed = place.run("install", "git:file:///srv/nothing", env=offline)
    assert "does not appear to be a git repository" in failed.stderr


def test_what_is_no_package_is_refused_when_it_is_installed(place: Place) -> None:
    for name in ("rope.whl", "pic.png"):
        (place.cwd / name).write_text("x")
    (place.cwd / "empty").mkdir()
    (place.cwd / "broken" / "prompts").mkdir(parents=True)
    (place.cwd / "broken" / "prompts" / "x.md").write_text("x")
    (place.cwd / "broken" / "pi.toml").write_text("prompts = [")
    manager = PackageManager(
        SettingsFiles(place.agent, place.cwd, project_trusted=False), Places(place.cwd, place.agent, place.home)
    )
    for source, said in {
        "": "no empty name",
        "rope.whl": "is a wheel: install it where piolet is installed",
        "pic.png": "is no package",
        "/dev/null": "is no package",
        "empty": "it offers no extensions, skills, prompts or themes",
        "broken": "pi.toml cannot be used",
        "dist:gone": "no installed distribution declares a package 'gone'",
    }.items():
        with pytest.raises(PackageError, match=re.escape(said)):
            manager.install(source)
    with pytest.raises(PackageError, match="no empty name"):
        manager.remove(" ")
    assert not (place.agent / "settings.json").exists()


def test_a_package_of_the_project_is_noted_so_that_it_works_for_everybody(place: Place) -> None:
    tea = place.cwd / "tools" / "tea"
    (tea / "prompts").mkdir(parents=True)
    (tea / "prompts" / "brew.md").write_text("Brew.")
    settings = place.cwd / ".pi" / "settings.json"
    for written in ("./tools/tea", str(tea), f"file://{tea}"):
        assert place.run("install", "-l", "-a", written).exit == 0
        assert json.loads(settings.read_text()) == {"packages": ["../tools/tea"]}
    assert _commands(place, "-a") == ["brew"]
    listed = place.run("list")
    assert listed.stdout == "No packages are installed\n"
    assert "With -a" in listed.stderr
    assert place.run("remove", "-l", "-a", "tools/tea").exit == 0
    assert not settings.exists()


def test_a_broken_settings_file_is_the_reason_for_packages_that_are_missing(place: Place) -> None:
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "settings.json").write_text('{"packages": [')
    for words in (("list", "-a"), ("remove", "-l", "-a", "./x")):
        assert "settings.json cannot be used: it is no valid JSON" in place.run(*words).stderr


def test_a_failed_installation_says_why_and_leaves_no_entry(place: Place, repository: dict[str, str]) -> None:
    done = place.run("install", "git:git.example/team/nothing", env=repository)
    assert done.exit == 1
    assert "could not be fetched" in done.stderr
    assert "Traceback" not in done.stderr
    assert "git:HOST/USER/REPO" in place.run("install", "git:/srv/nothing", env=repository).stderr
    assert not (place.agent / "settings.json").exists()


def test_what_fetches_is_run_away_from_the_project_and_passwords_are_not_shown(place: Place, tmp_path: Path) -> None:
    pip = tmp_path / "pip"
    pip.write_text(f"#!/bin/sh\npwd > {tmp_path}/where\necho 'no https://me:secret@pypi.example/simple' >&2\nexit 1\n")
    pip.chmod(0o755)
    place.write_settings({"piolet": {"pipCommand": [str(pip)]}})
    done = place.run("install", "pypi:knots", env={"PI_OFFLINE": ""})
    assert (tmp_path / "where").read_text() == "/\n"
    assert done.stderr.endswith("knots could not be fetched: no https://pypi.example/simple\n")


def test_lists_and_notices_show_no_password_of_an_address(place: Place) -> None:
    place.write_settings({"packages": ["git:https://me:secret@git.example/team/knots"]})
    listed, started = place.run("list"), place.run("-p", "--model", "demo/scripted", "hi")
    assert "git:https://git.example/team/knots" in listed.stdout
    assert "Package git:https://git.example/team/knots" in started.stderr
    assert "secret" not in listed.stdout + listed.stderr + started.stdout + started.stderr


def test_installing_offline_is_refused(place: Place) -> None:
    done = place.run("install", "git:git.example/team/knots")
    assert done.exit == 1
    assert "offline" in done.stderr


def test_a_project_package_needs_trust(place: Place, repository: dict[str, str]) -> None:
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "settings.json").write_text("{}")
    refused = place.run("install", "-l", "git:git.example/team/knots", env=repository)
    assert refused.exit == 1
    assert "not trusted" in refused.stderr
    done = place.run("install", "-l", "-a", "git:git.example/team/knots", env=repository)
    assert done.exit == 0
    assert json.loads((place.cwd / ".pi" / "settings.json").read_text())["packages"] == ["git:git.example/team/knots"]


def test_a_local_package_is_used_where_it_is(place: Place) -> None:
    (place.cwd / "mine" / "prompts").mkdir(parents=True)
    (place.cwd / "mine" / "prompts" / "hello.md").write_text("Hello.\n")
    assert place.run("install", "./mine").exit == 0
    assert "hello" in _commands(place)
    assert place.run("remove", "./mine").exit == 0
    assert (place.cwd / "mine" / "prompts" / "hello.md").exists()


def test_entries_that_name_no_package_are_listed_and_can_be_removed(place: Place) -> None:
    broken = ["pypi: !", "dist:gone", "npm:../x"]
    place.write_settings({"packages": broken})
    listed = place.run("list")
    assert [line.split("  ")[0] for line in listed.stdout.splitlines()] == broken
    (place.cwd / "extensions").mkdir()
    (place.cwd / "extensions" / "x.py").write_text("def extension(pi): pass\n")
    assert place.run("install", "./").exit == 0
    for source in broken:
        assert place.run("remove", source).exit == 0
    assert _settings(place)["packages"] == [str(place.cwd)]


def test_what_a_list_shows_cannot_drive_the_terminal(place: Place) -> None:
    place.write_settings({"packages": ["npm:../\x1b[31mx", "./\x1b]0;title\x07folder"]})
    listed = place.run("list").stdout
    assert len(listed.splitlines()) == 2
    assert not set(listed) & {"\x1b", "\x07"}


def test_single_resources_are_switched(place: Place) -> None:
    (place.cwd / "mine" / "prompts").mkdir(parents=True)
    (place.cwd / "mine" / "prompts" / "hello.md").write_text("Hello.\n")
    (place.cwd / "mine" / "prompts" / "bye.md").write_text("Bye.\n")
    place.run("install", "./mine", env={"PI_OFFLINE": ""})
    assert place.run("config", "--off", "prompts/bye.md").exit == 0
    assert _commands(place) == ["hello"]
    assert place.run("config", "--on", "prompts/bye.md").exit == 0
    assert sorted(_commands(place)) == ["bye", "hello"]


def test_a_project_switches_off_what_the_user_installed(place: Place) -> None:
    (place.home / "mine" / "prompts").mkdir(parents=True)
    for name in ("hello", "bye"):
        (place.home / "mine" / "prompts" / f"{name}.md").write_text("Hello.\n")
    place.write_settings({"packages": ["../../mine"]})
    assert place.run("config", "-l", "-a", "--off", "prompts/bye.md").exit == 0
    assert _commands(place, "-a") == ["hello"]
    assert sorted(_commands(place, "-na")) == ["bye", "hello"]
    assert _settings(place)["packages"] == ["../../mine"]
    assert place.run("config", "-l", "-a", "--on", "prompts/bye.md").exit == 0
    assert sorted(_commands(place, "-a")) == ["bye", "hello"]


def test_at_a_terminal_resources_are_switched_by_number(place: Place) -> None:
    (place.cwd / "mine" / "prompts").mkdir(parents=True)
    (place.cwd / "mine" / "prompts" / "hello.md").write_text("Hello.\n")
    place.run("install", "./mine")
    with Terminal([*PIOLET, "config"], cwd=place.cwd, env=place.environment()) as terminal:
        terminal.wait_for("1 [x] prompts", timeout=60)
        terminal.send("7\r")
        terminal.wait_for("7 is no number of this list", timeout=60)
        terminal.send("1\r")
        terminal.wait_for("1 [ ] prompts", timeout=60)
        terminal.send("\r")
        assert terminal.wait_for_exit(60) == 0
    assert _commands(place) == []


def test_an_update_tells_whose_list_of_models_could_not_be_had(place: Place) -> None:
    place.write_settings({})
    assert (
        place.run("update", "--models", env={"PI_OFFLINE": ""}).stdout
        == "No provider with credentials lists its models\n"
    )
    with ScriptedServer() as server:
        place.write_models(server.url, models=[])
        done = place.run("update", "--models", env={"PI_OFFLINE": ""})
    assert (done.exit, done.stdout, done.stderr) == (1, "", "Error: stub: 404: not found\n")
