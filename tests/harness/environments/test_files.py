"""Files of all environments: the same answers and errors, links followed, nothing half written."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pytest

from piolet.harness.environments.base import DirectoryEntry, Environment, ShellNotFound
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from tests.support.far import NAMES, SHELLS, FarPlaces, NotHere

FAR = (*NAMES, *(f"sh-{shell}" for shell in SHELLS))


@pytest.fixture(params=["local", "memory", *FAR])
def environment(request: pytest.FixtureRequest, tmp_path: Path, far: FarPlaces) -> Iterator[Environment]:
    """A folder with ``a.txt``, ``d/b.txt``, links to both, a dangling link and a loop."""
    files = {"a.txt": b"one\n", "d/b.txt": b"two\n"}
    links = {"la": "a.txt", "ld": "d", "dead": "nowhere", "l1": "l2", "l2": "l1", "d/up": "../a.txt"}
    if request.param == "memory":
        memory = MemoryEnvironment(files)
        for path, target in links.items():
            memory.add_link(path, target)
        yield memory
        return
    with far.working_folder() as folder:
        for path, data in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(data)
        for path, target in links.items():
            (folder / path).symlink_to(target)
        if request.param == "local":
            yield LocalEnvironment(folder, home=str(tmp_path / "home"))
            return
        try:
            yield far.environment(request.param, folder)
        except NotHere as reason:
            pytest.skip(str(reason))


async def at(environment: Environment, path: str) -> str:
    return await environment.resolve(path)


async def failure(environment: Environment, operation: str, path: str) -> int | None:
    full = await at(environment, path)
    work: Awaitable[object]
    match operation:
        case "read":
            work = environment.read_bytes(full)
        case "write":
            work = environment.write_bytes(full, b"x")
        case "list":
            work = environment.list_directory(full)
        case _:
            work = environment.stat(full)
    with pytest.raises(OSError) as caught:
        await work
    return caught.value.errno


async def test_paths_are_absolute_and_without_dots(environment: Environment) -> None:
    assert await environment.resolve("x/./y/../z") == f"{environment.cwd}/x/z"
    assert await environment.resolve("") == environment.cwd
    assert await environment.resolve("//etc//passwd") == "/etc/passwd"
    assert await environment.join("/a", "b", "../c") == "/a/c"
    home = await environment.resolve("~")
    assert await environment.resolve("~/x") == f"{home.removesuffix('/')}/x"
    assert await environment.resolve("~x") == f"{environment.cwd}/~x"


async def test_a_canonical_path_follows_links_and_may_not_exist(environment: Environment) -> None:
    assert await environment.canonical(await at(environment, "ld/b.txt")) == await at(environment, "d/b.txt")
    assert await environment.canonical(await at(environment, "ld/new/x")) == await at(environment, "d/new/x")
    assert await environment.canonical(await at(environment, "dead")) == await at(environment, "nowhere")
    assert await environment.canonical(await at(environment, "d/up")) == await at(environment, "a.txt")


async def test_stat_tells_what_stands_there(environment: Environment) -> None:
    kinds = {}
    for path in ("a.txt", "d", "la", "ld", "dead", "missing", "a.txt/x"):
        followed = await environment.stat(await at(environment, path))
        itself = await environment.stat(await at(environment, path), follow=False)
        kinds[path] = (followed and followed.kind, itself and itself.kind)
    assert kinds == {
        "a.txt": ("file", "file"),
        "d": ("directory", "directory"),
        "la": ("file", "symlink"),
        "ld": ("directory", "symlink"),
        "dead": (None, "symlink"),
        "missing": (None, None),
        "a.txt/x": (None, None),
    }
    info = await environment.stat(await at(environment, "a.txt"))
    assert info is not None
    assert info.size == 4


async def test_a_listing_tells_where_links_lead(environment: Environment) -> None:
    entries = await environment.list_directory(environment.cwd)
    assert sorted(entries, key=lambda entry: entry.name) == [
        DirectoryEntry("a.txt", "file"),
        DirectoryEntry("d", "directory"),
        DirectoryEntry("dead", "symlink"),
        DirectoryEntry("l1", "symlink"),
        DirectoryEntry("l2", "symlink"),
        DirectoryEntry("la", "symlink", "file"),
        DirectoryEntry("ld", "symlink", "directory"),
    ]


async def test_reading_a_part(environment: Environment) -> None:
    path = await at(environment, "a.txt")
    assert await environment.read_bytes(path, offset=1, limit=2) == b"ne"
    assert await environment.read_bytes(path, offset=9) == b""


async def test_writing_makes_parents_and_follows_links(environment: Environment) -> None:
    await environment.write_bytes(await at(environment, "n/e/w.txt"), b"1")
    await environment.write_bytes(await at(environment, "la"), b"2")
    await environment.write_bytes(await at(environment, "dead"), b"3")
    await environment.write_bytes(await at(environment, "ld/c.txt"), b"4")
    for path, data in {"n/e/w.txt": b"1", "a.txt": b"2", "nowhere": b"3", "d/c.txt": b"4"}.items():
        assert await environment.read_bytes(await at(environment, path)) == data
    link = await environment.stat(await at(environment, "la"), follow=False)
    assert link is not None
    assert link.kind == "symlink"


@pytest.mark.parametrize(
    ("operation", "path", "number"),
    [
        ("read", "missing", errno.ENOENT),
        ("read", "d", errno.EISDIR),
        ("read", "a.txt/x", errno.ENOTDIR),
        ("read", "l1", errno.ELOOP),
        ("stat", "l1", errno.ELOOP),
        ("write", "d", errno.EISDIR),
        ("write", "a.txt/x", errno.ENOTDIR),
        ("write", "l1", errno.ELOOP),
        ("list", "missing", errno.ENOENT),
        ("list", "a.txt", errno.ENOTDIR),
    ],
)
async def test_failures_have_the_number_of_the_system(
    environment: Environment, operation: str, path: str, number: int
) -> None:
    assert await failure(environment, operation, path) == number


async def test_appending_and_removing(environment: Environment) -> None:
    path = await environment.temp_file("pre-", ".log")
    try:
        info = await environment.stat(path)
        assert info is not None
        assert (info.size, info.mode) == (0, 0o600)
        await environment.append_bytes(path, b"a")
        await environment.append_bytes(path, b"b")
        assert await environment.read_bytes(path) == b"ab"
    finally:
        await environment.remove(path)
    assert await environment.stat(path) is None
    with pytest.raises(FileNotFoundError):
        await environment.remove(path)


async def test_a_snapshot_leaves_out_what_is_no_file(environment: Environment) -> None:
    paths = [await at(environment, path) for path in ("a.txt", "la", "d", "missing", "l1", "a.txt/x")]
    snapshot = await environment.snapshot(paths)
    assert snapshot.contents == {paths[0]: b"one\n", paths[1]: b"one\n"}
    assert [size for _, size in snapshot.stamps.values()] == [4, 4]
    assert (await environment.snapshot(paths, contents=False)).contents == {}


async def test_memory_has_no_programs() -> None:
    environment = MemoryEnvironment()
    with pytest.raises(OSError, match="no programs"):
        await environment.run(["true"])
    with pytest.raises(ShellNotFound, match="no shell"):
        await environment.shell()


async def test_memory_hands_out_its_files() -> None:
    environment = MemoryEnvironment({"a": "x", "/etc/b": b"y"}, cwd="/w")
    await environment.write_bytes("/w/c/d", b"z")
    assert environment.files() == {"/w/a": b"x", "/etc/b": b"y", "/w/c/d": b"z"}


# ------------------------------------------------------------------------------------------------ of this machine only


async def test_the_mode_of_a_file_is_kept_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    environment = LocalEnvironment(tmp_path)
    old = tmp_path / "old"
    old.write_bytes(b"")
    old.chmod(0o751)
    before = os.umask(0o027)
    try:
        await environment.write_bytes(str(old), b"x")
        await environment.write_bytes(str(tmp_path / "new"), b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(old.stat().st_mode) == 0o751
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes are a matter of Linux")
async def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    await LocalEnvironment(tmp_path).write_bytes(str(path), b"y")
    assert os.getxattr(path, "user.note") == b"kept"


async def test_hard_links_stay_together(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"longer than the new text")
    two.hardlink_to(one)
    await LocalEnvironment(tmp_path).write_bytes(str(one), b"new")
    assert two.read_bytes() == b"new"
    assert one.stat().st_nlink == 2


async def test_a_reader_sees_the_old_or_the_new_content(tmp_path: Path) -> None:
    environment, path = LocalEnvironment(tmp_path), tmp_path / "f"
    versions = [bytes([65 + i]) * 200_000 for i in range(8)]
    path.write_bytes(versions[0])
    seen: set[bytes] = set()

    async def read() -> None:
        for _ in range(60):
            seen.add(await environment.read_bytes(str(path)))

    async def write() -> None:
        for version in versions:
            await environment.write_bytes(str(path), version)

    await asyncio.gather(read(), write())
    assert seen <= set(versions)


async def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(IsADirectoryError):
        await LocalEnvironment(tmp_path).write_bytes(str(tmp_path / "d"), b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        await LocalEnvironment(tmp_path).write_bytes(str(path), b"y")


async def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    environment = LocalEnvironment(tmp_path)
    async with asyncio.timeout(30):
        for path in (str(fifo), "/dev/zero"):
            with pytest.raises(OSError, match="not a regular file"):
                await environment.read_bytes(path)
            with pytest.raises(OSError, match="not a regular file"):
                await environment.write_bytes(path, b"x")
    info = await environment.stat(str(fifo))
    assert info is not None
    assert info.kind == "fifo"
