"""Finding files and lines: ripgrep, Python on disk, in memory and over what a far side sends give the same."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from piolet.base.abort import AbortController, Aborted
from piolet.harness.environments.base import Environment, FindQuery, GrepQuery, GrepResult, InvalidPattern
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.environments.shell import ShellEnvironment

NAMES = """a b ab out src x.py y.js a.txt A.TXT .hid é.txt [x] {a,b}.c -d node_modules b\u00a0c"""
RULES = r"""out out/ /out *.py !x.py src/*.py src/** **/a a/**/b /a/b !src/ #c
[ab].txt \!x ?.txt a/ !a/ ** * !* !**/ foo\ [
src/a* /* !/src .hid */x.py ab/**/x.py A.TXT a.* **/src/** *.{py,js}"""
CONTENTS = (
    b"needle\n",
    b"foo\nneedle here\nbar\n",
    b"nothing\n",
    b"needle\0x\n",
    "\ufeffneedle\r\n".encode("utf-16-le"),
    b"\xef\xbb\xbfneedle\n",
    b"a\r\nneedle\r\nb\r\n",
    b"needle",
    b"x\nneedle\ny\nneedle\nz\nneedle\n\n\nq\n",
    b"bad \xff needle\n",
    b"",
    b"needle\n" * 5,
)


def grow(folder: Path, rng: random.Random, depth: int = 0) -> None:
    """Fill `folder` with random files, folders, links, ignore files and repositories."""
    for name in rng.choices(NAMES.split(" "), k=rng.randint(1, 6)):
        path = folder / name
        kind = rng.random()
        if os.path.lexists(path):
            continue
        if kind < 0.4 and depth < 4:
            path.mkdir()
            grow(path, rng, depth + 1)
        elif kind < 0.47:
            path.symlink_to(rng.choice(["..", "a", "nowhere", "x.py"]))
        else:
            path.write_bytes(rng.choice(CONTENTS))
    if rng.random() < 0.35:
        for name in rng.sample([".gitignore", ".ignore", ".rgignore", ".fdignore"], rng.randint(1, 3)):
            (folder / name).write_text("\n".join(rng.choices(RULES.split(), k=rng.randint(1, 4))) + "\n")
    if rng.random() < 0.2:
        (folder / ".git").mkdir()


def in_memory(folder: Path) -> MemoryEnvironment:
    """Return a copy of a tree on disk, at the same place."""
    memory = MemoryEnvironment(cwd=str(folder))
    for root, folders, files in os.walk(folder):
        memory.add_folder(root)
        for path in (Path(root, name) for name in [*folders, *files]):
            if path.is_symlink():
                memory.add_link(str(path), os.readlink(path))
            elif path.is_file():
                memory._put(str(path), path.read_bytes())
    return memory


def a_query(rng: random.Random, folders: Sequence[str]) -> GrepQuery:
    globs = [None, None, "*.txt", "!*.txt", "src/**", "/a/*", "a", "*.{py,js}", "out/", "!out/", "**/x.py", "!x.py"]
    return GrepQuery(
        pattern=rng.choice(["needle", "e$", "^n", "x|q", ".", "n.*d+le"]),
        path=rng.choice(folders),
        glob=rng.choice(globs),
        ignore_case=rng.random() < 0.2,
        context=rng.choice([0, 0, 1, 2]),
        limit=rng.choice([100, 100, 3, 1]),
    )


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize("seed", range(12))
async def test_all_engines_give_the_same(tmp_path: Path, seed: int, far_shell: ShellEnvironment) -> None:
    rng = random.Random(seed)
    top = Path(os.path.realpath(tmp_path)) / "top"
    top.mkdir()
    grow(top, rng)
    folders = [str(top), *(os.path.join(root, name) for root, names, _ in os.walk(top) for name in names)]
    fast, slow, memory = LocalEnvironment(top), LocalEnvironment(top, use_ripgrep=False), in_memory(top)
    for _ in range(4):
        query = a_query(rng, folders)
        expected = await fast.grep(query)
        assert await slow.grep(query) == expected, query
        assert await memory.grep(query) == expected, query
        assert await far_shell.grep(query) == expected, query
        pattern = rng.choice(["*", "*.py", "A*", "a.txt", "src/*", "**/a/**", "", "-*"])
        names = FindQuery(pattern, query.path, glob=query.glob)
        assert await memory.find(names) == await slow.find(names), names
        assert await far_shell.find(names) == await slow.find(names), names


@pytest.fixture(params=["ripgrep", "python", "memory", "far"])
def search(request: pytest.FixtureRequest, tmp_path: Path, far_shell: ShellEnvironment) -> Search:
    if request.param == "ripgrep" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return Search(str(request.param), Path(os.path.realpath(tmp_path)), far_shell)


class Search:
    """A folder that is searched with one of the engines."""

    def __init__(self, engine: str, folder: Path, far_shell: ShellEnvironment) -> None:
        self.engine = engine
        self.far_shell = far_shell
        self.folder = folder

    def write(self, **files: str | bytes) -> None:
        for name, content in files.items():
            self.put(name, content)

    def put(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def environment(self) -> Environment:
        if self.engine == "memory":
            return in_memory(self.folder)
        if self.engine == "far":
            return self.far_shell
        return LocalEnvironment(self.folder, use_ripgrep=self.engine == "ripgrep")

    async def result(self, pattern: str, path: str = "", **query: object) -> GrepResult:
        full = os.path.join(self.folder, path) if path else str(self.folder)
        return await self.environment().grep(GrepQuery(pattern, full, **query))  # type: ignore[arg-type]

    async def grep(self, pattern: str, path: str = "", **query: object) -> list[str]:
        found = await self.result(pattern, path, **query)
        return [f"{line.path}{':' if line.is_match else '-'}{line.number} {line.text}" for line in found.lines]

    async def find(self, pattern: str, path: str = "", limit: int = 1000, glob: str | None = None) -> list[str]:
        full = os.path.join(self.folder, path) if path else str(self.folder)
        return list((await self.environment().find(FindQuery(pattern, full, limit, glob))).paths)


async def test_lines_are_sorted_by_path_part_by_part(search: Search) -> None:
    for name in ("a/z", "a-b", "a.c", "B", "a/b/c", "é"):
        search.put(name, "x\n")
    assert [line.partition(":")[0] for line in await search.grep("x")] == ["B", "a/b/c", "a/z", "a-b", "a.c", "é"]


async def test_gitignore_counts_within_a_repository_only(search: Search) -> None:
    search.write(**{".gitignore": "out\n", "out/a": "x\n", "in/a": "x\n"})
    assert await search.grep("x") == ["in/a:1 x", "out/a:1 x"]
    search.put(".git/HEAD", "")
    assert await search.grep("x") == ["in/a:1 x"]


async def test_other_ignore_files_always_count(search: Search) -> None:
    search.write(
        **{".ignore": "one\n", ".rgignore": "two\n", ".fdignore": "three\n", "one": "x\n", "two": "x\n", "three": "x\n"}
    )
    assert await search.grep("x") == ["three:1 x"]
    assert await search.find("*") == [".fdignore", ".ignore", ".rgignore", "two"]


async def test_ignore_files_above_the_searched_folder_count(search: Search) -> None:
    search.write(
        **{".git/HEAD": "", ".gitignore": "/src/gen\n*.log\n", "src/gen/a": "x\n", "src/b.log": "x\n", "src/c": "x\n"}
    )
    assert await search.grep("x", "src") == ["c:1 x"]


async def test_a_search_within_an_ignored_folder_finds_its_files(search: Search) -> None:
    search.write(**{".git/HEAD": "", ".gitignore": "out/\n", "out/a": "x\n"})
    assert await search.grep("x", "out") == ["a:1 x"]
    assert await search.find("a", "out") == ["a"]


async def test_a_nested_repository_is_judged_by_its_own_rules(search: Search) -> None:
    search.write(**{".git/HEAD": "", ".gitignore": "*.log\n", "sub/.git/HEAD": "", "sub/a.log": "x\n", "a.log": "x\n"})
    assert await search.grep("x") == ["sub/a.log:1 x"]
    assert await search.find("*.log") == ["sub/a.log"]


async def test_find_heeds_gitignore_without_a_repository(search: Search) -> None:
    search.write(**{".gitignore": "out\n", "out/a": "", "b": ""})
    assert await search.find("*") == [".gitignore", "b"]


async def test_find_leaves_out_what_a_glob_excludes(search: Search) -> None:
    search.write(**{".git/a": "", "a": "", "in/.git/a": "", "in/a": ""})
    assert await search.find("a", glob="!.git") == ["a", "in/a"]


async def test_a_glob_that_names_an_ignored_file_brings_it_back(search: Search) -> None:
    search.write(**{".ignore": "*.log\n", "a.log": "x\n", "b.txt": "x\n"})
    assert await search.grep("x", glob="*.log") == ["a.log:1 x"]
    assert await search.grep("x", glob="!*.txt") == []


async def test_the_path_of_a_file_is_searched_whatever_it_is(search: Search) -> None:
    search.write(**{".ignore": "a\n", "a": b"needle\0\n"})
    assert await search.grep("needle", "a") == ["a:1 needle\0"]
    assert await search.grep("needle") == []


@pytest.mark.parametrize("python", [True, False])
async def test_what_was_asked_for_must_be_readable_the_rest_is_passed_over(tmp_path: Path, python: bool) -> None:
    environment = LocalEnvironment(tmp_path, use_ripgrep=not python)
    if sys.platform == "linux":  # a file that not even root can read
        with pytest.raises(OSError, match="Input/output error"):
            await environment.grep(GrepQuery("x", "/proc/self/mem"))
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "b").write_text("x\n")
    (tmp_path / "c").write_text("x\n")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "c").chmod(0)
    try:
        found = await environment.grep(GrepQuery("x", str(tmp_path)))
        assert "a" in {line.path for line in found.lines}
        if os.geteuid() != 0:
            assert [line.path for line in found.lines] == ["a"]
            for path in ("closed", "c"):
                with pytest.raises(PermissionError):
                    await environment.grep(GrepQuery("x", str(tmp_path / path)))
    finally:
        (tmp_path / "closed").chmod(0o700)


async def test_a_loop_of_links_in_place_of_an_ignore_file_is_none(search: Search) -> None:
    search.put("in/f", "x\n")
    for name in (".gitignore", ".ignore", ".git"):
        (search.folder / name).symlink_to(name)
    assert await search.grep("x", "in") == ["f:1 x"]
    assert await search.find("*", "in") == ["f"]


async def test_a_missing_end_and_carriage_returns(search: Search) -> None:
    search.put("a", "x\r\ny\rx")
    assert await search.grep("x") == ["a:1 x", "a:2 y\rx"]


async def test_context_does_not_repeat_lines(search: Search) -> None:
    search.put("a", "1\nx\n3\nx\n5\n6\n7\nx")
    assert await search.grep("x", context=1) == ["a-1 1", "a:2 x", "a-3 3", "a:4 x", "a-5 5", "a-7 7", "a:8 x"]


async def test_the_limit_counts_matches_over_files_and_keeps_context(search: Search) -> None:
    search.write(a="x\nx\n", b="0\nx\n1\nx\n")
    found = await search.result("x", limit=3, context=2)
    assert [(line.path, line.number, line.is_match) for line in found.lines] == [
        ("a", 1, True),
        ("a", 2, True),
        ("b", 1, False),
        ("b", 2, True),
        ("b", 3, False),
        ("b", 4, False),
    ]
    assert found.limit_reached
    assert not (await search.result("x", limit=4)).limit_reached


async def test_bytes_that_are_not_utf8_are_no_characters(search: Search) -> None:
    search.put("a", b"n\xffn\n")
    assert await search.grep("n.n") == []
    assert await search.grep("n[^a]n") == []
    assert await search.grep("^n") == ["a:1 n\ufffdn"]


async def test_a_large_file_is_searched_in_pieces(search: Search) -> None:
    lines = [b"%07d" % i for i in range(1_300_000)]  # more than one piece of 8 MiB
    search.put("a", b"\n".join(lines))
    assert await search.grep("^(1048575|1048576|1299999)$", context=1) == [
        "a-1048575 1048574",
        "a:1048576 1048575",
        "a:1048577 1048576",
        "a-1048578 1048577",
        "a-1299999 1299998",
        "a:1300000 1299999",
    ]


async def test_an_invalid_pattern_or_glob_is_an_error(search: Search) -> None:
    search.put("a", "x\n")
    with pytest.raises(InvalidPattern, match="unclosed group"):
        await search.grep("(")
    with pytest.raises(InvalidPattern, match=r"Invalid glob '\['"):
        await search.grep("x", glob="[")
    with pytest.raises(InvalidPattern):
        await search.find("{a")


async def test_an_abort_ends_a_search(search: Search) -> None:
    search.put("a/b", "x\n")
    controller = AbortController()
    controller.abort()
    with pytest.raises(Aborted):
        await search.environment().grep(GrepQuery("x", str(search.folder)), controller.signal)
    with pytest.raises(Aborted):
        await search.environment().find(FindQuery("*", str(search.folder)), controller.signal)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.ts", ["A/B.ts", "pkg/src/f.ts", "src/a.ts", "src/b/c.ts", "top.ts"]),
        ("b.ts", ["A/B.ts"]),
        ("b.TS", []),
        ("src/*.ts", ["src/a.ts"]),
        ("./src/*.ts", ["src/a.ts"]),
        ("/src/*.ts", []),
        ("src/", []),
        ("src", ["pkg/src/", "src/"]),
        ("src/**", ["src/a.ts", "src/b/", "src/b/c.ts"]),
        ("**/src/*.ts", ["pkg/src/f.ts", "src/a.ts"]),
        ("src/**/*.ts", ["src/a.ts", "src/b/c.ts"]),
        ("src/{a,b/c}.ts", ["src/a.ts", "src/b/c.ts"]),
        ("SRC/*.ts", []),
        ("[a-c]", ["A/", "src/b/"]),
        ("?op.ts", ["top.ts"]),
    ],
)
async def test_find_patterns(search: Search, pattern: str, found: list[str]) -> None:
    for name in ("src/a.ts", "src/b/c.ts", "pkg/src/f.ts", "A/B.ts", "top.ts"):
        search.put(name, "")
    assert await search.find(pattern) == found


async def test_find_lists_links_but_does_not_follow_them(search: Search) -> None:
    search.put("d/a", "")
    (search.folder / "d/up").symlink_to("..")
    (search.folder / "dead").symlink_to("nowhere")
    assert await search.find("*") == ["d/", "d/a", "d/up", "dead"]


async def test_find_follows_links_if_asked_to_and_through_links_enters_no_folder_twice(search: Search) -> None:
    for name in ("other/sub/f", "top/.git/HEAD", "top/d/a"):
        search.put(name, "")
    search.put("top/.gitignore", "hidden/\n")
    (search.folder / "other/again").symlink_to("../top")
    for link, target in {"d/up": "..", "hidden": "../other", "l": "../other", "m": "../other", "f": "d/a"}.items():
        (search.folder / "top" / link).symlink_to(target)
    query = FindQuery("*", str(search.folder / "top"), glob="!.git", follow=True)
    assert list((await search.environment().find(query)).paths) == [
        *(".gitignore", "d/", "d/a", "d/up/", "f"),
        *("l/", "l/again/", "l/sub/", "l/sub/f", "m/"),
    ]


async def test_the_limit_of_find_is_exact(search: Search) -> None:
    search.write(a="", b="", c="")
    environment = search.environment()
    for limit, reached in ((2, True), (3, False)):
        result = await environment.find(FindQuery("*", str(search.folder), limit))
        assert (len(result.paths), result.limit_reached) == (limit, reached)
