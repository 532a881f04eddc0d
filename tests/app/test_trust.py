from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from piolet.app.trust import (
    PROJECT_TRUST,
    ProjectTrust,
    TrustDecision,
    TrustError,
    TrustOption,
    TrustStore,
    needs_trust,
    trust_options,
)
from piolet.harness.hooks import Hooks


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / ".pi").mkdir(parents=True)
    (folder / ".pi/settings.json").touch()
    return folder


def trust_of(tmp_path: Path, flag: bool | None = None) -> ProjectTrust:
    return ProjectTrust(tmp_path / "agent", tmp_path / "home", flag=flag)


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / ".pi").mkdir()
    (tmp_path / ".pi/extensions").symlink_to("/nowhere")
    assert needs_trust(tmp_path, tmp_path / "home")


def test_a_linked_configuration_folder_is_looked_into(tmp_path: Path, project: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".pi").symlink_to(project / ".pi")
    assert needs_trust(other, tmp_path / "home")


async def test_an_open_question_without_dialog_means_no(tmp_path: Path, project: Path) -> None:
    trust = trust_of(tmp_path)
    assert await trust.decide(project) is False
    assert not trust.store.path.exists()


async def test_a_decision_holds_for_links_and_folders_below(tmp_path: Path, project: Path) -> None:
    TrustStore(tmp_path / "agent").save({str(tmp_path): True, str(project): False})
    (tmp_path / "alias").symlink_to(project)
    below = project / "sub"
    (below / ".pi/skills").mkdir(parents=True)
    trust = trust_of(tmp_path)
    assert [await trust.decide(folder) for folder in (project, tmp_path / "alias", below)] == [False, False, False]
    assert trust.store.nearest(tmp_path / "other") is True


async def test_alone_a_folder_needs_a_decision_of_its_own(tmp_path: Path, project: Path) -> None:
    TrustStore(tmp_path / "agent").save({str(project.parent): True})
    trust = ProjectTrust(tmp_path / "agent", tmp_path / "home")
    assert not await trust.decide(project, alone=True)
    TrustStore(tmp_path / "agent").save({str(project): True})
    assert await ProjectTrust(tmp_path / "agent", tmp_path / "home").decide(project, alone=True)


async def test_a_renamed_folder_is_asked_about_again(tmp_path: Path, project: Path) -> None:
    TrustStore(tmp_path / "agent").save({str(project): True})
    renamed = project.rename(tmp_path / "renamed")
    assert await trust_of(tmp_path).decide(renamed) is False


async def test_each_folder_is_decided_once(tmp_path: Path, project: Path) -> None:
    asked = []

    async def ask(folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
        asked.append(folder)
        return options[2]

    trust = trust_of(tmp_path)
    assert await trust.decide(project, ask=ask) is True
    assert await trust.decide(project, ask=ask) is True
    assert asked == [str(project)]
    assert not trust.store.path.exists()


async def test_a_dismissed_question_means_no_and_saves_nothing(tmp_path: Path, project: Path) -> None:
    async def ask(folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
        return None

    trust = trust_of(tmp_path)
    assert await trust.decide(project, ask=ask) is False
    assert not trust.store.path.exists()


async def test_trusting_the_parent_removes_the_folders_own_entry(tmp_path: Path, project: Path) -> None:
    TrustStore(tmp_path / "agent").save({str(project): False, "/else": True})
    store = TrustStore(tmp_path / "agent")
    store.save(trust_options(str(project))[1].saves)
    assert store.read() == {str(tmp_path): True, "/else": True}


async def test_an_answer_that_cannot_be_saved_holds_for_this_process(tmp_path: Path, project: Path) -> None:
    async def ask(folder: str, options: Sequence[TrustOption]) -> TrustOption | None:
        (tmp_path / "agent").write_text("in the way")
        return options[0]

    trust = trust_of(tmp_path)
    assert await trust.decide(project, ask=ask) is True
    (told,) = trust.unsaved
    assert "trust.json was not written" in told
    assert "this session only" in told


async def test_the_flag_is_for_this_process_only(tmp_path: Path, project: Path) -> None:
    assert await trust_of(tmp_path, flag=True).decide(project) is True
    assert await trust_of(tmp_path).decide(project) is False


async def test_an_extension_may_decide_and_remember(tmp_path: Path, project: Path) -> None:
    hooks = Hooks()
    hooks.on(PROJECT_TRUST, lambda event: TrustDecision("yes", remember=True))
    assert await trust_of(tmp_path).decide(project, default="never", hooks=hooks) is True
    assert await trust_of(tmp_path).decide(project) is True


def test_the_root_has_no_parent_to_trust() -> None:
    assert len(trust_options("/")) == 4


def test_the_file_is_private_sorted_and_ends_in_a_line_feed(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "agent")
    store.save({"/b": False, "/a": True})
    assert store.path.read_text("utf-8") == '{\n  "/a": true,\n  "/b": false\n}\n'
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["[]", "3", "{", '{"/a": "yes"}', '{"/a": 1}'])
def test_a_broken_file_is_named_and_kept(tmp_path: Path, text: str) -> None:
    store = TrustStore(tmp_path)
    store.path.write_text(text, encoding="utf-8")
    for use in (lambda: store.nearest(Path("/a")), lambda: store.save({"/b": True})):
        with pytest.raises(TrustError, match=r"trust\.json cannot be used: .*\. Repair it, or move it away"):
            use()
    assert store.path.read_text("utf-8") == text


def test_null_entries_are_skipped(tmp_path: Path) -> None:
    store = TrustStore(tmp_path)
    store.path.write_text(json.dumps({"/a": True, "/a/b": None}), encoding="utf-8")
    assert store.nearest(Path("/a/b")) is True
