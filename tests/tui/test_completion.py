from __future__ import annotations

from collections.abc import Sequence

import pytest

from piolet.tui.completion import (
    CommandInfo,
    Request,
    Sources,
    Suggestion,
    complete,
    rank_commands,
    rank_files,
    rank_names,
    request_at,
)


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("/", Request("command", "/", "")),
        ("/mod", Request("command", "/mod", "mod")),
        ("/skill:p", Request("command", "/skill:p", "skill:p")),
        ("/model gpt", Request("argument", "gpt", "gpt", "model")),
        ("/model ", Request("argument", "", "", "model")),
        ("see @src/ma", Request("mention", "@src/ma", "src/ma")),
        ("@", Request("mention", "@", "")),
        ('see @"a b', Request("mention", '@"a b', "a b")),
        ("/tree @x", Request("mention", "@x", "x")),
        ("(@x", Request("mention", "@x", "x")),
        ("see ./sr", Request("path", "./sr", "./sr")),
        ("see ~/", Request("path", "~/", "~/")),
        ("/usr/lo", Request("path", "/usr/lo", "/usr/lo")),
        ("cat ../x", Request("path", "../x", "../x")),
        ("me@example", None),
        ("hello wor", None),
        ("", None),
        ("src/", None),
    ],
)
def test_what_is_completed_is_seen_from_the_text_before_the_cursor(text: str, request_: Request | None) -> None:
    assert request_at(text) == request_


def test_commands_are_only_completed_in_the_first_line() -> None:
    assert request_at("/mod", first=False) == Request("path", "/mod", "/mod")
    assert request_at("/model gpt", first=False) is None


def test_tab_completes_any_word_as_a_path() -> None:
    assert request_at("see src/ma", forced=True) == Request("path", "src/ma", "src/ma")
    assert request_at("/et", forced=True) == Request("path", "/et", "/et")
    assert request_at("see ", forced=True) == Request("path", "", "")
    assert request_at("see @x", forced=True) == Request("mention", "@x", "x")


def test_commands_are_found_by_name_and_skills_without_their_prefix() -> None:
    commands = [CommandInfo("settings"), CommandInfo("skill:tree-map"), CommandInfo("tree"), CommandInfo("skill:set")]
    assert [c.name for c in rank_commands("tree", commands)] == ["tree", "skill:tree-map"]
    assert [c.name for c in rank_commands("skill:tr", commands)] == ["skill:tree-map"]
    assert [c.name for c in rank_commands("set", commands)] == ["skill:set", "settings"]
    assert rank_commands("", commands) == commands


def test_files_are_ranked_by_how_they_hold_the_name() -> None:
    paths = ["a/main/x.txt", "domain.py", "main.py", "b/main", "main/", "none"]
    assert rank_files("main", paths) == ["main/", "b/main", "main.py", "domain.py", "a/main/x.txt"]
    assert len(rank_files("", [str(n) for n in range(99)])) == 20


def test_names_of_a_folder_are_sorted_folders_first() -> None:
    names = ["b.txt", "Alpha", "sub/", "alps/", ".hidden"]
    assert rank_names("", names) == ["alps/", "sub/", "Alpha", "b.txt"]
    assert rank_names("AL", names) == ["alps/", "Alpha"]
    assert rank_names(".", names) == [".hidden"]


async def models(prefix: str) -> Sequence[Suggestion]:
    return [Suggestion("gpt", "gpt", prefix)]


class Files:
    """Answers like an environment, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    async def find(self, folder: str, part: str) -> Sequence[str]:
        self.asked.append((folder, part))
        return ["main.py", "my notes.md", "sub dir/", "pkg/"]

    async def names(self, folder: str) -> Sequence[str]:
        self.asked.append((folder,))
        return ["x.py", "sub/"]

    def sources(self) -> Sources:
        commands = [CommandInfo("model", "choose a model", "[id]", "u", models), CommandInfo("new")]
        return Sources(lambda: commands, self.find, self.names)


async def suggestions(text: str, files: Files | None = None, *, forced: bool = False) -> list[Suggestion]:
    request = request_at(text, forced=forced)
    assert request is not None
    return await complete(request, (files or Files()).sources())


async def test_a_command_is_inserted_with_a_blank_and_shown_with_its_origin() -> None:
    assert await suggestions("/mo") == [Suggestion("/model ", "model", "[u] [id] — choose a model")]
    assert (await suggestions("/new"))[0].description == ""


async def test_a_command_completes_its_own_arguments() -> None:
    assert await suggestions("/model gp") == [Suggestion("gpt", "gpt", "gp")]
    assert await suggestions("/new x") == []


async def test_mentions_are_searched_below_the_folder_that_was_typed() -> None:
    files = Files()
    found = await suggestions("see @src/m", files)
    assert files.asked == [("src/", "m")]
    assert found[0] == Suggestion("@src/main.py ", "main.py", "src/main.py")


async def test_mentions_with_blanks_are_quoted_and_folders_go_on() -> None:
    texts = {s.label: (s.text, s.goes_on) for s in await suggestions("@")}
    assert texts["my notes.md"] == ('@"my notes.md" ', False)
    assert texts["sub dir/"] == ('@"sub dir/', True)
    assert texts["pkg/"] == ("@pkg/", True)


async def test_paths_keep_the_folder_that_was_typed() -> None:
    files = Files()
    assert await suggestions("see ./a/", files) == [
        Suggestion("./a/sub/", "sub/", "", True),
        Suggestion("./a/x.py", "x.py"),
    ]
    await suggestions("see x", files, forced=True)
    assert files.asked == [("./a/",), (".",)]
