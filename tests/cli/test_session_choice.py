"""Which session the command line means (the command line specification, section 6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.replies import openai
from tests.support.run import Finished, Place
from tests.support.server import ScriptedServer


@pytest.fixture
def server(place: Place) -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: openai("Hello.")) as server:
        place.write_models(server.url)
        yield server


@pytest.fixture
def elsewhere(place: Place, tmp_path: Path) -> Place:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return Place(place.home, folder)


def ask(place: Place, *words: str, stdin: str = "") -> Finished:
    return place.run("-p", "--model", "stub/m1", *words, stdin=stdin)


def told(server: ScriptedServer) -> list[str]:
    """Return what the user has said in the session of the last request."""
    return [
        message["content"][0]["text"] for message in server.requests[-1].body["messages"] if message["role"] == "user"
    ]


def header(path: Path) -> dict[str, object]:
    value: dict[str, object] = json.loads(path.read_text().splitlines()[0])
    return value


def test_continue_takes_the_last_session_of_this_folder_or_begins_one(
    place: Place, elsewhere: Place, server: ScriptedServer
) -> None:
    ask(place, "-c", "one")
    ask(elsewhere, "-c", "there")
    ask(place, "-c", "two")
    assert told(server) == ["one", "two"]
    assert len(place.sessions()) == 2


def test_a_session_is_found_by_path_id_and_beginning_of_an_id(place: Place, server: ScriptedServer) -> None:
    ask(place, "--session-id", "my-session.1", "one")
    (path,) = place.sessions()
    for number, reference in enumerate([str(path), path.name and f"./{path.name}", "my-session.1", "my-s"]):
        if reference.startswith("./"):
            (place.cwd / path.name).symlink_to(path)
        assert ask(place, "--session", reference, f"next {number}").exit == 0
    assert told(server) == ["one", *(f"next {number}" for number in range(4))]
    assert ask(place, "--session", "nosuch", "x").stderr == "Error: No session found matching 'nosuch'\n"


def test_a_path_that_is_missing_becomes_a_session_there(place: Place, server: ScriptedServer) -> None:
    assert ask(place, "--session", "new/here.jsonl", "one").exit == 0
    assert header(place.cwd / "new" / "here.jsonl")["cwd"] == str(place.cwd)
    assert place.sessions() == []


def test_a_file_that_is_no_session_is_left_alone(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "notes.jsonl").write_text("notes\n")
    done = ask(place, "--session", "notes.jsonl", "one")
    assert done.exit == 1
    assert "notes.jsonl" in done.stderr
    assert (place.cwd / "notes.jsonl").read_text() == "notes\n"


def test_a_session_of_another_folder_is_forked_when_the_user_says_yes(
    place: Place, elsewhere: Place, server: ScriptedServer
) -> None:
    ask(elsewhere, "--session-id", "theirs", "there")
    (path,) = place.sessions()
    done = ask(place, "--session", "theirs", "here", stdin="y\nand this")
    assert done.exit == 0, done.stderr
    assert str(elsewhere.cwd) in done.stdout
    assert "Fork this session into current directory? [y/N] " in done.stdout
    assert done.stdout.endswith("Hello.\n")
    assert told(server) == ["there", "and thishere"]
    (copy,) = [other for other in place.sessions() if other != path]
    assert (header(copy)["parentSession"], header(copy)["cwd"]) == (str(path), str(place.cwd))


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_a_user_who_refuses_gets_nothing_but_that(
    place: Place, elsewhere: Place, server: ScriptedServer, answer: str
) -> None:
    ask(elsewhere, "--session-id", "theirs", "there")
    done = ask(place, "--session", "theirs", "here", stdin=answer)
    assert done.exit == 0
    assert done.stdout.endswith("Aborted.\n")
    assert len(server.requests) == 1
    assert len(place.sessions()) == 1


@pytest.mark.parametrize("mode", ["json", "rpc"])
def test_a_question_is_no_part_of_a_protocol(place: Place, elsewhere: Place, server: ScriptedServer, mode: str) -> None:
    ask(elsewhere, "--session-id", "theirs", "there")
    words = ("--mode", mode, "--model", "stub/m1", "--session", "theirs")
    no, yes = (place.run(*words, stdin=answer) for answer in ("n\n", "y\n"))
    assert (no.exit, no.stdout) == (0, "")
    assert no.stderr.endswith("[y/N] Aborted.\n")
    assert yes.exit == 0
    assert all(isinstance(record, dict) for record in yes.records)


def test_an_exact_id_is_opened_or_made_with_a_warning(place: Place, server: ScriptedServer) -> None:
    first = ask(place, "--session-id", "exact", "one")
    assert first.stderr.startswith("Warning: No project session found with id 'exact'")
    assert ask(place, "--session-id", "exact", "two").stderr == ""
    assert told(server) == ["one", "two"]
    assert ask(place, "--session-id", "no good", "x").exit == 1
    assert ask(place, "--session-id", "exact\n", "x").exit == 1


def test_a_fork_copies_everything_under_an_id_that_must_be_free(place: Place, server: ScriptedServer) -> None:
    ask(place, "--session-id", "old", "one")
    assert ask(place, "--fork", "old", "--session-id", "copy", "two").exit == 0
    assert told(server) == ["one", "two"]
    assert ask(place, "--session", "old", "three").exit == 0
    assert told(server) == ["one", "three"]
    taken = ask(place, "--fork", "old", "--session-id", "copy", "x")
    assert taken.exit == 1
    assert "'copy' is here already" in taken.stderr
    assert ask(place, "--fork", "missing.jsonl", "x").exit == 1
    assert len(place.sessions()) == 2


def test_a_folder_that_is_gone_is_an_error_that_names_all(
    place: Place, elsewhere: Place, server: ScriptedServer
) -> None:
    ask(elsewhere, "there")
    (path,) = place.sessions()
    elsewhere.cwd.rmdir()
    done = ask(place, "--session", str(path), "here")
    assert done.exit == 1
    for name in (str(elsewhere.cwd), str(path), str(place.cwd)):
        assert name in done.stderr
    assert ask(place, "--fork", str(path), "here").exit == 0
    assert told(server) == ["there", "here"]


def test_the_folder_of_sessions_by_option_variable_and_setting(place: Place, server: ScriptedServer) -> None:
    place.write_settings({"sessionDir": "by-setting"})
    ask(place, "one")
    variable = {"PI_CODING_AGENT_SESSION_DIR": "by-variable"}
    place.run("-p", "--model", "stub/m1", "two", env=variable)
    place.run("-p", "--model", "stub/m1", "--session-dir", "by-option", "three", env=variable)
    assert [len(list((place.cwd / f"by-{name}").glob("*.jsonl"))) for name in ("setting", "variable", "option")] == [
        1
    ] * 3
    assert place.sessions() == []


def test_no_session_leaves_no_file_and_a_name_is_stored(place: Place, server: ScriptedServer) -> None:
    ask(place, "--no-session", "--name", "n", "one")
    assert place.sessions() == []
    ask(place, "--name", " my name ", "two")
    (path,) = place.sessions()
    assert '"name":"my name"' in path.read_text()


def test_a_project_chooses_the_folder_of_sessions_only_when_it_is_trusted(place: Place, server: ScriptedServer) -> None:
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "settings.json").write_text('{"sessionDir": "mine"}')
    ask(place, "one")
    assert len(place.sessions()) == 1
    assert not (place.cwd / "mine").exists()
    ask(place, "-a", "two")
    assert len(list((place.cwd / "mine").glob("*.jsonl"))) == 1


def test_a_session_that_cannot_be_stored_is_told_before_the_model_is_asked(
    place: Place, server: ScriptedServer
) -> None:
    done = ask(place, "--session-dir", "/proc/none", "x")
    assert (done.exit, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: The session folder /proc/none cannot be made")
    assert "--no-session" in done.stderr
    assert server.requests == []


def test_a_new_session_file_gets_its_folder(place: Place, server: ScriptedServer) -> None:
    assert ask(place, "--session", "new/folder/s.jsonl", "x").exit == 0
    assert header(place.cwd / "new" / "folder" / "s.jsonl")["cwd"] == str(place.cwd)


@pytest.mark.parametrize("words", [(" \n ",), ("", "\t")])
def test_blank_messages_are_none(place: Place, server: ScriptedServer, words: tuple[str, ...]) -> None:
    assert ask(place, *words).exit == 0
    assert server.requests == []
