"""``piolet sessions``: every subcommand, as text and as JSON."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.harness.session.making import HEADER, entry, said, write
from tests.support.run import Finished, Place

EVIL = "\x1b]0;owned\x07red \x1b[31malarm\x9b2J"


@pytest.fixture
def here(place: Place) -> Path:
    """A session of the working directory, with a fork in it and escapes in its texts."""
    folder = place.agent / "sessions" / f"--{str(place.cwd).strip('/').replace('/', '-')}--"
    folder.mkdir(parents=True)
    return write(
        folder / "one.jsonl",
        said("u1", None, f"please {EVIL}"),
        said("a1", "u1", "the answer", role="assistant"),
        said("left", "a1"),
        said("right", "a1"),
        entry("session_info", "n", "right", name=f"named {EVIL}"),
        header=HEADER | {"id": "0190aaaa", "cwd": str(place.cwd)},
    )


def run(place: Place, *argv: str, code: int = 0) -> Finished:
    done = place.run("sessions", *argv)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit == code, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert "\x9b" not in done.stdout
    return done


def as_json(place: Place, *argv: str, code: int = 0) -> Any:
    return json.loads(run(place, *argv, "--json", code=code).stdout)


def test_what_only_reads_changes_no_byte(place: Place, here: Path) -> None:
    here.write_bytes(here.read_bytes() + b'{"torn')
    before = here.read_bytes()
    for argv in (["list"], ["show", "0190"], ["tree", "0190"], ["search", "answer"], ["export", "0190"]):
        run(place, *argv)
    run(place, "verify", code=1)
    assert here.read_bytes() == before
    assert sorted(path.name for path in here.parent.iterdir()) == ["one.jsonl"]


def test_list_shows_this_folder_or_all(place: Place, here: Path) -> None:
    elsewhere = place.agent / "sessions" / "--else--"
    elsewhere.mkdir()
    write(elsewhere / "two.jsonl", said("u1", None), header=HEADER | {"id": "0190bbbb", "cwd": "/else"})
    [only] = as_json(place, "list")
    assert (only["id"], only["messageCount"], only["path"]) == ("0190aaaa", 4, str(here))
    assert {found["id"] for found in as_json(place, "list", "--all")} == {"0190aaaa", "0190bbbb"}
    assert "named red alarm" in run(place, "list").stdout
    assert as_json(place, "list", "--session-dir", str(place.home / "none")) == []


def test_show_and_tree_tell_the_branch_and_all_branches(place: Place, here: Path) -> None:
    shown = as_json(place, "show", "0190aaaa")
    assert [value["id"] for value in shown["entries"]] == ["u1", "a1", "right", "n"]
    assert (shown["leafId"], shown["messages"], shown["problems"]) == ("n", 4, [])
    text = run(place, "show", str(here)).stdout
    assert "please red alarm" in text
    assert "left" not in text
    nodes = as_json(place, "tree", "0190aaaa")["nodes"]
    assert [(node["id"], node["depth"]) for node in nodes] == [
        ("u1", 0),
        ("a1", 1),
        ("left", 2),
        ("right", 2),
        ("n", 3),
    ]
    drawn = run(place, "tree", "0190aaaa").stdout.splitlines()
    assert drawn[0].startswith("  u1 user: please red alarm")
    assert drawn[2].startswith("    left")
    assert drawn[4].startswith("*   n")


def test_search_goes_over_all_projects(place: Place, here: Path) -> None:
    elsewhere = place.agent / "sessions" / "--else--"
    elsewhere.mkdir()
    write(elsewhere / "two.jsonl", said("u1", None, "find me"), header=HEADER | {"id": "0190bbbb", "cwd": "/else"})
    assert [found["id"] for found in as_json(place, "search", "find", "me")] == ["0190bbbb"]
    assert as_json(place, "search", "re:zzz") == []
    assert run(place, "search", "zzz").stdout == "Nothing found\n"


def test_export_and_import_go_around(place: Place, here: Path) -> None:
    path = as_json(place, "export", "0190aaaa", str(place.home / "out" / "x.jsonl"))["path"]
    assert json.loads(Path(path).read_text().splitlines()[0])["type"] == "session"
    imported = as_json(place, "import", path)["path"]
    assert Path(imported) == here.parent / "x.jsonl"
    assert "x-1.jsonl" in run(place, "import", path).stdout
    header, *rest = Path(path).read_text().splitlines(keepends=True)
    away = json.dumps(json.loads(header) | {"cwd": "/on/another/machine"}) + "\n"
    Path(path).write_text(away + "".join(rest))
    assert Path(as_json(place, "import", path)["path"]).read_text() == away + "".join(rest)


def test_rename_and_delete(place: Place, here: Path) -> None:
    run(place, "rename", "0190aaaa", "a", "new", "name")
    assert as_json(place, "list")[0]["name"] == "a new name"
    deleted = as_json(place, "delete", "0190aaaa")
    assert (deleted["path"], deleted["how"] in ("trash", "deleted"), here.exists()) == (str(here), True, False)
    assert run(place, "list").stdout == "No sessions here\n"


def test_a_blank_name_clears(place: Place, here: Path) -> None:
    assert run(place, "rename", "0190aaaa", "  ").stdout == "It has no name now\n"
    assert as_json(place, "rename", "0190aaaa", "")["name"] is None
    assert "name" not in as_json(place, "list")[0]


def test_an_id_that_could_mean_several_sessions_is_refused(place: Place, here: Path) -> None:
    other = write(here.with_name("two.jsonl"), said("u", None), header=HEADER | {"id": "0190aabb"})
    copy = shutil.copyfile(here, here.with_name("copy.jsonl"))
    for command in ("show", "tree", "export", "verify", "delete"):
        done = run(place, command, "0190aa", code=1)
        assert done.stderr.startswith("Error: '0190aa' means 3 sessions; name one by more of its id or its file: ")
    assert run(place, "show", "0190aaaa").stdout  # of copies of one session any will do to look at
    assert run(place, "delete", "0190aaaa", code=1).stderr.startswith("Error: '0190aaaa' means 2 sessions; ")
    assert run(place, "show", "0190aab").stdout
    assert other.exists()
    assert here.read_bytes() == copy.read_bytes()


def test_only_sessions_are_deleted(place: Place, here: Path) -> None:
    notes = place.cwd / "notes.txt"
    notes.write_text("not a session\n")
    for path in (notes, place.cwd, place.home, here.parent):
        done = run(place, "delete", f"{path}/" if path.is_dir() else str(path), code=1)
        assert done.stderr == f"Error: {path} is not a session file; it was left as it is\n"
        assert path.exists()
    assert run(place, "delete", "/no/such.jsonl", code=1).stderr == "Error: There is no session file /no/such.jsonl\n"


def test_what_is_no_session_hides_none(place: Place, here: Path) -> None:
    for name in ("loop.jsonl", "gone.jsonl"):
        here.with_name(name).symlink_to(name if name == "loop.jsonl" else "/no/such/file")
    here.parent.with_name("--loop--").symlink_to("--loop--")
    here.with_name("folder.jsonl").mkdir()
    here.with_name("empty.jsonl").touch()
    os.mkfifo(here.with_name("pipe.jsonl"))
    for argv in (["list"], ["list", "--all"], ["search", "answer"]):
        assert [info["id"] for info in as_json(place, *argv)] == ["0190aaaa"]
    assert as_json(place, "show", "0190aaaa")["path"] == str(here)


def test_verify_and_repair(place: Place, here: Path) -> None:
    [sound] = as_json(place, "verify")
    assert (sound["entries"], sound["problems"]) == (5, [])
    here.write_bytes(here.read_bytes() + b"{damaged\n")
    before = here.read_bytes()
    assert "line 7: malformed" in run(place, "verify", "0190aaaa", code=1).stdout
    [found] = as_json(place, "verify", str(here), "--repair", code=1)
    assert [problem["kind"] for problem in found["problems"]] == ["malformed"]
    assert as_json(place, "verify", found["repaired"])[0]["problems"] == []
    done = run(place, "verify", "/", str(here), code=1)
    assert done.stderr == "Error: / cannot be read: Is a directory\n"
    assert "line 7: malformed" in done.stdout
    assert here.read_bytes() == before


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["show", "nothing-like-it"], 1),
        (["show", "/no/such/file.jsonl"], 1),
        (["verify", "/no/such/file.jsonl"], 1),
        (["import", "/no/such/file.jsonl"], 1),
        (["rename", "zzz", "name"], 1),
        ([], 1),
        (["unknown"], 1),
    ],
)
def test_mistakes_are_told_in_a_line(place: Place, argv: list[str], code: int) -> None:
    done = run(place, *argv, code=code)
    assert done.stdout == ""
    assert done.stderr
