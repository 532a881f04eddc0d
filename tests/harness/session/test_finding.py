"""Which sessions are there, which one is meant, and how a picker searches and orders them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from piolet.harness.session.listing import SessionInfo, list_files, read_info
from piolet.harness.session.naming import dashed, default_folder, folder_name
from piolet.harness.session.picker import Word, parse_query, search, threads
from piolet.harness.session.places import SessionPlace, discover_header
from tests.harness.session.making import HEADER, entry, said, write

CWD = "/home/dev/proj"


def at(path: Path, seconds: int) -> Path:
    os.utime(path, (seconds, seconds))
    return path


def info(id: str, **fields: Any) -> SessionInfo:
    defaults = {"path": f"/{id}.jsonl", "cwd": "/x", "created": 0, "modified": 0, "message_count": 0}
    return SessionInfo(**{**defaults, "first_message": "", "all_messages_text": "", **fields, "id": id})


def test_a_custom_folder_is_flat_and_relative_to_the_working_directory() -> None:
    place = SessionPlace.of(CWD, "/agent", ".pi/sessions")
    assert (place.folder, place.flat) == (f"{CWD}/.pi/sessions", True)
    assert SessionPlace.of(CWD, "/agent", "~/s").folder == os.path.expanduser("~/s")
    default = SessionPlace.of(CWD, "/agent")
    assert (default.folder, default.root, default.flat) == (default_folder("/agent", CWD), "/agent/sessions", False)


def test_folder_names_keep_what_is_no_separator() -> None:
    assert folder_name("/") == "----"
    assert folder_name("//a/b:c/../é ü.x/") == "--a-é ü.x--"
    assert dashed("2025-01-10T09:00:00.000Z") == "2025-01-10T09-00-00-000Z"


def test_ids_are_found_here_first_exact_before_prefix_newest_before_old(tmp_path: Path) -> None:
    here, there = Path(default_folder(str(tmp_path), CWD)), Path(default_folder(str(tmp_path), "/else"))
    here.mkdir(parents=True)
    there.mkdir()
    for folder, id, time in (
        (here, "abc", 1),
        (here, "abcd", 3),
        (here, "abce", 2),
        (there, "abcf", 9),
        (there, "x", 9),
    ):
        at(write(folder / f"{id}.jsonl", header=HEADER | {"id": id, "cwd": "/else"}), time)
    place = SessionPlace.of(CWD, str(tmp_path))
    found = {reference: place.find(reference) for reference in ("abc", "ab", "abcf", "x", "zz", "")}
    assert {reference: hit and (hit.id, hit.here) for reference, hit in found.items()} == {
        "abc": ("abc", True),
        "ab": ("abcd", True),
        "abcf": ("abcf", False),
        "x": ("x", False),
        "zz": None,
        "": None,
    }
    assert place.find_id("abc") == str(here / "abc.jsonl")
    assert place.find_id("abcf") is None
    assert place.most_recent() == str(here / "abcd.jsonl")
    assert {found.id for found in list_files(place.all_files())} == {"abc", "abcd", "abce", "abcf", "x"}


def test_in_a_flat_folder_only_sessions_of_the_working_directory_are_here(tmp_path: Path) -> None:
    at(write(tmp_path / "a.jsonl", header=HEADER | {"id": "aa", "cwd": CWD + "/"}), 1)
    at(write(tmp_path / "b.jsonl", header=HEADER | {"id": "ab", "cwd": "/else"}), 2)
    at(write(tmp_path / "c.jsonl", header={"type": "session", "id": "ac"}), 3)
    place = SessionPlace.of(CWD, "/agent", str(tmp_path))
    assert [found.id for found in place.sessions()] == ["aa"]
    assert place.most_recent() == str(tmp_path / "a.jsonl")
    assert SessionPlace(CWD, str(tmp_path), "/", flat=False).most_recent() == str(tmp_path / "c.jsonl")
    assert [hit and (hit.id, hit.here) for hit in map(place.find, ("a", "ab"))] == [("aa", True), ("ab", False)]


def test_symlinked_project_folders_and_missing_ones_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "agent" / "sessions").mkdir(parents=True)
    (tmp_path / "real").mkdir()
    write(tmp_path / "real" / "s.jsonl")
    (tmp_path / "agent" / "sessions" / "--link--").symlink_to(tmp_path / "real")
    (tmp_path / "agent" / "sessions" / "dangling").symlink_to(tmp_path / "nothing")
    place = SessionPlace.of(CWD, str(tmp_path / "agent"))
    assert [found.id for found in list_files(place.all_files())] == ["s1"]
    assert (place.sessions(), place.most_recent()) == ([], None)


def test_a_header_is_found_at_the_beginning_alone(tmp_path: Path) -> None:
    assert discover_header(str(write(tmp_path / "a.jsonl", "", "{bad", HEADER, header=None))) is not None
    bom = write(tmp_path / "b.jsonl")
    bom.write_bytes(b"\xef\xbb\xbf" + bom.read_bytes().rstrip(b"\n"))
    assert discover_header(str(bom)) is not None
    assert discover_header(str(write(tmp_path / "c.jsonl", said("u1", None), HEADER, header=None))) is None
    long = write(tmp_path / "d.jsonl", header=HEADER | {"more": "x" * 300_000})
    assert discover_header(str(long)) is not None
    beyond = write(tmp_path / "e.jsonl", "x" * (1 << 20), HEADER, header=None)
    assert discover_header(str(beyond)) is None
    (tmp_path / "f.jsonl").mkdir()
    for path in (tmp_path / "f.jsonl", tmp_path / "missing.jsonl"):
        assert discover_header(str(path)) is None
        assert read_info(str(path)) is None


def test_a_list_shows_times_names_and_texts_of_odd_files_too(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        entry("message", "s", None, message={"role": "oracle", "content": "?"}),
        entry("message", "u", "s", message={"role": "user", "content": [{"type": "text", "text": "half \ud83d"}, 5]}),
        entry("message", "a", "u", message={"role": "assistant", "content": None, "timestamp": 1_900_000_000_000.5}),
        entry("message", "b", "u", message={"role": "assistant", "content": "plain", "timestamp": None}),
        "42",
        entry("sessionInfo", "n", "b", name=" odd "),
        '{"torn',
        header={"type": "session", "id": "x"},
    )
    found = read_info(str(at(path, 1_000)))
    assert found is not None
    assert (found.cwd, found.name, found.message_count) == ("", "odd", 4)
    assert (found.created, found.modified) == (1_000_000, 1_900_000_000_000)
    assert found.first_message == "half \ud83d"
    assert found.all_messages_text == "half \ud83d plain"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("One TWO", [("one", False), ("two", False)]),
        ('a "B  c" d', [("a", False), ("b c", True), ("d", False)]),
        ('a "b c', [("a", False), ('"b', False), ("c", False)]),
        ('""', []),
    ],
)
def test_queries_are_words_and_phrases(query: str, words: list[tuple[str, bool]]) -> None:
    assert parse_query(query) == [Word(*word) for word in words]


def test_the_nearer_to_the_name_the_better() -> None:
    infos = [
        info("1", cwd="/srv/l-o-g-i-n", modified=9),
        info("2", all_messages_text="the login page", modified=1),
        info("3", all_messages_text="Login here", modified=2),
        info("4", name="Login", modified=0),
        info("5", name="other", modified=9),
    ]
    assert [found.id for found in search(infos, "LOGIN")] == ["4", "3", "2", "1"]
    assert [found.id for found in search(infos, "login", "recent")] == ["1", "2", "3", "4"]
    assert [found.id for found in search(infos, "login page")] == ["2"]
    assert [found.id for found in search(infos, '"login   page"')] == ["2"]
    assert [found.id for found in search(infos, '"lgn"')] == []
    assert [found.id for found in search(infos, "re:login (page|here)$")] == []
    assert [found.id for found in search(infos, "re:LOGIN (page|here)")] == ["3", "2"]
    assert search(infos, "re:(") == search(infos, "re:") == []
    assert [found.id for found in search(infos, "", names="named")] == ["4", "5"]


def test_forks_stand_under_their_parents_the_newest_family_first() -> None:
    infos = [
        info("old", modified=1),
        info("root", modified=2),
        info("fork", modified=3, parent_session_path="/root.jsonl"),
        info("fork of fork", modified=9, parent_session_path="/fork.jsonl", path="/ff.jsonl"),
        info("second fork", modified=8, parent_session_path="/root.jsonl", path="/sf.jsonl"),
        info("alone", modified=5, parent_session_path="/gone.jsonl"),
        info("c1", modified=4, path="/c1.jsonl", parent_session_path="/c2.jsonl"),
        info("c2", modified=4, path="/c2.jsonl", parent_session_path="/c1.jsonl"),
    ]
    assert [(thread.info.id, thread.depth) for thread in threads(infos)] == [
        ("root", 0),
        ("fork", 1),
        ("fork of fork", 2),
        ("second fork", 1),
        ("alone", 0),
        ("c1", 0),
        ("c2", 1),
        ("old", 0),
    ]
