"""``piolet sessions open``: a page is written and handed to the program that opens things."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.run import Place
from tests.support.showcase import showcase
from tests.support.timing import wait_until


@pytest.fixture
def saved(place: Place) -> Path:
    return showcase().write(place.home / "one.jsonl")


def opener(folder: Path) -> Path:
    """Make programs that open things; return the file in which they write what they were given."""
    folder.mkdir()
    for name in ("wslview", "xdg-open", "open"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{folder}/new" && mv "{folder}/new" "{folder}/opened"\n')
        program.chmod(0o755)
    return folder / "opened"


def test_the_page_is_written_in_a_folder_of_its_own_and_opened(place: Place, saved: Path, tmp_path: Path) -> None:
    opened = opener(tmp_path / "bin")
    variables = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin", "TMPDIR": str(tmp_path)}
    done = place.run("sessions", "open", str(saved), env=variables)
    assert (done.exit, done.stderr) == (0, "")
    page = Path(done.stdout.removeprefix("Written to: ").strip())
    wait_until(opened.exists)
    assert opened.read_text() == str(page)
    assert page.name == "one.html"
    assert (page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "The tram board skips departures" in page.read_text()


def test_the_page_goes_where_it_is_wanted(place: Place, saved: Path, tmp_path: Path) -> None:
    opened = opener(tmp_path / "bin")
    done = place.run("sessions", "open", str(saved), "x.html", "--json", env={"PATH": str(tmp_path / "bin") + ":/bin"})
    assert json.loads(done.stdout) == {"path": str(place.cwd / "x.html")}
    wait_until(opened.exists)
    assert opened.read_text() == str(place.cwd / "x.html")


def test_where_nothing_opens_pages_the_path_is_told(place: Place, saved: Path, tmp_path: Path) -> None:
    done = place.run("sessions", "open", str(saved), "x.html", env={"PATH": str(tmp_path)})
    assert done.exit == 0
    assert done.stdout == f"Written to: {place.cwd / 'x.html'}\n"
    assert done.stderr == "Warning: There is no program here that opens it in a browser\n"
    assert (place.cwd / "x.html").exists()


def test_a_session_that_is_not_there_is_an_error(place: Place) -> None:
    done = place.run("sessions", "open", "nope")
    assert (done.exit, done.stdout, done.stderr) == (1, "", "Error: No session found matching 'nope'\n")


def test_a_page_in_the_home_folder_is_opened_there(place: Place, saved: Path, tmp_path: Path) -> None:
    done = place.run("sessions", "open", str(saved), "~/x.html", "--json", env={"PATH": str(tmp_path)})
    assert json.loads(done.stdout) == {"path": str(place.home / "x.html")}
    assert (place.home / "x.html").exists()


@pytest.mark.parametrize("words", [("--export",), ("sessions", "open")])
def test_escapes_in_the_name_of_a_page_do_not_reach_the_terminal(
    place: Place, saved: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = place.run(*words, str(saved), "a\x1b[31mb\nc.html", env={"PATH": str(tmp_path)})
    assert done.exit == 0
    assert "\x1b" not in done.stdout
    assert done.stdout.count("\n") == 1


def test_an_export_is_a_page_or_a_session_file_as_its_name_says_and_goes_to_standard_output_too(
    place: Place, saved: Path
) -> None:
    assert place.run("--export", str(saved), "new/out.jsonl").stdout == "Exported to: new/out.jsonl\n"
    exported = (place.cwd / "new" / "out.jsonl").read_text().splitlines()
    printed = place.run("sessions", "export", str(saved), "-").stdout.splitlines()
    assert json.loads(exported[0])["type"] == "session"
    assert exported[1:] == printed[1:] != []
    page = place.run("--export", str(saved), "-")
    assert (page.exit, page.stdout[:15]) == (0, "<!DOCTYPE html>")
    assert [path.name for path in place.cwd.iterdir()] == ["new"]
