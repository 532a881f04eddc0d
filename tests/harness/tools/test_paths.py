"""From what a model wrote to the file that it means (tools specification, section 1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.paths import existing_path, path_to_write
from tests.harness.tools.calling import Tools

NBSP, NNBSP = "\u00a0", "\u202f"


async def means(path: str, *files: str, tolerant: bool = False) -> str:
    return await existing_path(MemoryEnvironment(dict.fromkeys(files, "")), path, tolerant=tolerant)


async def written(path: str, *files: str) -> str:
    return await path_to_write(MemoryEnvironment(dict.fromkeys(files, "")), path)


@pytest.mark.parametrize(
    ("path", "files", "found"),
    [
        ("a", ["a"], "/work/a"),
        ("", [], "/work"),
        ("./x/../a", ["a"], "/work/a"),
        ("/etc/x", [], "/etc/x"),
        ("~", [], "/home"),
        ("~/x", ["~/x"], "/home/x"),
        ("@~/x", [], "/home/x"),
        ("file:///etc/a%20b", [], "/etc/a b"),
        ("file://localhost/x", [], "/x"),
        ("@types/x", ["types/x"], "/work/types/x"),
        ("@types/x", ["types/x", "@types/x"], "/work/@types/x"),
        (f"a{NBSP}b", ["a b"], "/work/a b"),
        (f"a{NBSP}b", ["a b", f"a{NBSP}b"], f"/work/a{NBSP}b"),
        ("a\u2003\u3000b", ["a  b"], "/work/a  b"),
        ('"a"', ["a"], '/work/"a"'),
        (f"@no{NBSP}where", [], "/work/no where"),
        ("\ud83d", [], "/work/\ufffd"),
    ],
)
async def test_the_literal_path_wins_over_the_cleaned_one(path: str, files: list[str], found: str) -> None:
    assert await means(path, *files) == found


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("Shot at 3.04 PM.txt", f"Shot at 3.04{NNBSP}PM.txt"),
        ("Shot 3 am", f"Shot 3{NNBSP}am"),
        ("résumé", "re\u0301sume\u0301"),
        ("it's", "it\u2019s"),
        ("l'été", "l\u2019e\u0301te\u0301"),
    ],
)
async def test_names_that_macos_gives_are_found_when_reading(path: str, file: str) -> None:
    assert await means(path, file, tolerant=True) == f"/work/{file}"
    assert await means(path, file) == f"/work/{path}"


async def test_a_plain_blank_elsewhere_stays_one() -> None:
    assert await means("a b", f"a{NNBSP}b", tolerant=True) == "/work/a b"


@pytest.mark.parametrize(
    ("path", "files", "target"),
    [
        ("@types/b", ["@types/a"], "/work/@types/b"),
        ("@types/b", ["types/a"], "/work/types/b"),
        ("@new", [], "/work/new"),
        ("@old", ["@old"], "/work/@old"),
        (f"d/a{NBSP}b", ["d/x"], "/work/d/a b"),
        (f"a{NBSP}d/b", [f"a{NBSP}d/x"], f"/work/a{NBSP}d/b"),
        (f"a{NBSP}b", [], "/work/a b"),
        ("~/n", [], "/home/n"),
        ("/n", [], "/n"),
    ],
)
async def test_a_new_file_goes_where_its_folder_is(path: str, files: list[str], target: str) -> None:
    assert await written(path, *files) == target


@pytest.mark.parametrize("path", ["file://host/x", "file://x", "a\0b"])
async def test_paths_that_mean_nothing_are_errors(path: str) -> None:
    with pytest.raises(ToolError):
        await means(path)
    with pytest.raises(ToolError):
        await written(path)


@pytest.mark.parametrize("name", ["read", "write", "edit", "grep", "find", "ls"])
async def test_what_cannot_be_looked_at_is_told_in_the_words_of_tools(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    more = {"content": "", "edits": [{"oldText": "a", "newText": "b"}], "pattern": "x"}
    for path, code in (("x" * 300, "ENAMETOOLONG"), ("@loop/x", "ELOOP")):
        error = await Tools(LocalEnvironment(tmp_path)).failure(name, path=path, **more)
        assert code in error
        assert "Errno" not in error
