"""Every example of the manual runs: commands with what they write, Python programs, JSON.

A ``console`` block is a shell session: lines with ``$`` (and ``>``, a here-document that goes on) are run one after the
other, the lines below them are what they write, ``...`` standing for anything. ``python`` blocks are whole programs.
``text`` blocks are for what cannot be run here. The examples of a page share a home and a folder; the model behind them
answers every question in the same words.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from piolet.cli.args import OPTIONS
from piolet.modes.rpc.commands import Commands
from tests.support.replies import openai
from tests.support.run import ROOT, Place, write_command
from tests.support.server import ScriptedServer

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    found = FENCE.findall((DOCS / page).read_text(encoding="utf-8"))
    return [(language, text) for language, text in found if language in languages]


def steps(session: str) -> Iterator[tuple[str, str]]:
    """Give each command of a ``console`` block with what it should write."""
    command, output = "", ""
    for line in session.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        elif line.startswith("> ") or line == ">":
            command += "\n" + line[2:]
        else:
            output += line + "\n"
    if command:
        yield command, output


def matches(written: str, expected: str) -> bool:
    lines = [line.rstrip() for line in written.rstrip().splitlines()]
    pattern = re.escape(expected.rstrip()).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, "\n".join(lines), re.DOTALL) is not None


@pytest.fixture
def world(place: Place) -> Iterator[tuple[Place, dict[str, str]]]:
    """A project with a git repository, a model, and `piolet` as a command."""
    programs = place.home / "bin"
    programs.mkdir()
    write_command(programs / "piolet")
    for opener in ("wslview", "xdg-open", "open"):  # examples open no window on the machine that tests them
        (programs / opener).symlink_to("/bin/true")
    (place.cwd / "notes.md").write_text("Notes.\n")
    variables = place.environment() | {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -q -m Begin"):
        subprocess.run(["git", *words.split()], cwd=place.cwd, env=variables, check=True)
    with ScriptedServer(lambda request: openai("It is all in the notes.")) as server:
        place.write_models(server.url)
        place.write_settings({"defaultProvider": "stub", "defaultModel": "m1"})
        yield place, variables


def run(argv: list[str], place: Place, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=place.cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console", "python")])
def test_examples_do_what_the_page_says(page: str, world: tuple[Place, dict[str, str]]) -> None:
    place, variables = world
    if not blocks(page, "console"):  # programs that look at a session need one
        run(["piolet", "-p", "Hello"], place, variables)
    for language, text in blocks(page, "console", "python"):
        if language == "python":
            done = run([sys.executable, "-c", text], place, variables)
            assert done.returncode == 0, done.stdout
            continue
        for command, expected in steps(text):
            done = run(["bash", "-c", command], place, variables)
            assert matches(done.stdout, expected), f"{command}\nwrote:\n{done.stdout}\nexpected:\n{expected}"


@pytest.mark.parametrize("page", PAGES)
def test_json_is_json_and_every_block_says_what_it_is(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    languages = {language for language, _ in FENCE.findall(text)}
    assert languages <= {"console", "python", "json", "toml", "text", "markdown"}
    for language, block in blocks(page, "json", "toml"):
        (json if language == "json" else tomllib).loads(block)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)
    }
    for target in re.findall(r"\]\(([^)]+)\)", FENCE.sub("", text)):
        name, _, anchor = target.partition("#")
        if target.startswith("http"):
            continue
        assert not name or (DOCS / page).parent.joinpath(name).is_file(), target
        if anchor and not name:
            assert anchor in anchors, target


def test_the_index_names_every_page() -> None:
    index = (DOCS / "index.md").read_text()
    assert sorted({*re.findall(r"\(([\w/-]+\.md)\)", index), "index.md"}) == PAGES


def test_every_command_of_rpc_mode_is_described() -> None:
    rpc = (DOCS / "rpc.md").read_text()
    names = [name.removeprefix("do_") for name in vars(Commands) if name.startswith("do_")]
    assert [name for name in names if f"`{name}`" not in rpc] == []


def test_options_that_the_manual_names_exist() -> None:
    known = {name for option in OPTIONS for name in option.names}
    others = {"--json", "--on", "--off", "--repair", "--rm", "--ro-bind", "--bind"}
    for page in PAGES:
        for _, text in blocks(page, "console"):
            for command, _ in steps(text):
                words = shlex.split(command.partition("\n")[0], comments=True)
                if words[:1] == ["piolet"] and words[1:2] not in (["sessions"], ["auth"], ["usage"]):
                    used = {word for word in words if word.startswith("--") and word != "--"}
                    assert used <= known | others | {"--contineu"}, command


def test_the_readme_points_to_the_manual() -> None:
    assert "(docs/index.md)" in (ROOT / "README.md").read_text()
