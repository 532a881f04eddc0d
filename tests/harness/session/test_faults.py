"""What happens when processes die, disks fill up and files change underneath: nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from piolet.base.json import loads
from piolet.harness.session import jsonl
from piolet.harness.session.copying import fork_from
from piolet.harness.session.errors import HistoryChanged, SessionError, WriteFailed
from piolet.harness.session.session import Session
from tests.harness.session.making import HEADER, answer, said, texts, user, write
from tests.harness.session.writer import start_writer


def opened(path: Path) -> Session:
    return Session.open(str(path))


def ids(path: Path) -> list[str]:
    """Return the ids of the entries in a file; every line must be whole."""
    values = [loads(line) for line in path.read_bytes().split(b"\n") if line]
    return [value["id"] for value in values[1:]]


def shown(session: Session) -> list[str]:
    return texts(session.build_context().messages)


# ------------------------------------------------------------------------------------------------- torn and cut lines


def test_a_cut_at_any_byte_of_the_last_two_lines_loses_only_what_was_cut(tmp_path: Path) -> None:
    whole = [HEADER, said("u1", None), said("a1", "u1", role="assistant"), said("u2", "a1", "zwei é 😀")]
    text = write(tmp_path / "whole.jsonl", *whole[1:]).read_bytes()
    starts = [0, *(place + 1 for place, byte in enumerate(text) if byte == 10)]
    for cut in range(starts[2], len(text) + 1):
        path = tmp_path / "s.jsonl"
        path.write_bytes(text[:cut])
        kept = [value["id"] for value, start in zip(whole[1:], starts[2:], strict=True) if start - 1 <= cut]
        session = opened(path)
        assert [head.id for head in session.heads] == kept
        new = session.append_message(user("next"))
        session.close()
        with opened(path) as again:
            assert [head.id for head in again.heads] == [*kept, new]
            assert again.path_heads()[-1].parent_id == kept[-1]
            assert path.read_bytes().startswith(text[:cut])


def test_a_line_torn_by_another_program_meanwhile_does_not_take_ours_with_it(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"u2","par')
    new = session.append_message(user("next"))
    assert [head.id for head in opened(path).heads] == ["u1", new]
    assert [problem.kind for problem in session.problems] == ["malformed"]


def test_a_whole_line_without_end_by_another_program_becomes_an_entry(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    with path.open("ab") as file:
        file.write(b'{"type":"custom","id":"c1","parentId":"u1","customType":"x"}')
    new = session.append_message(user("next"))
    assert [head.id for head in session.heads] == ["u1", "c1", new]
    assert session.head(new).parent_id == "u1"


# ------------------------------------------------------------------------------------------------------ failed writes


@contextmanager
def no_room(path: Path, spare: int) -> Iterator[None]:
    """No file may grow beyond the size of `path` and `spare` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((path.stat().st_size if path.exists() else 0) + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("spare", [0, 1, 20])
def test_a_failed_write_takes_the_entry_back_and_the_next_one_works(tmp_path: Path, spare: int) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session, before = opened(path), path.read_bytes()
    with no_room(path, spare), pytest.raises(WriteFailed, match="File too large"):
        session.append_session_info("lost")
    assert path.read_bytes() == before
    assert (session.leaf_id, session.name, len(session.heads)) == ("u1", None, 1)
    new = session.append_message(user("kept"))
    assert session.head(new).parent_id == "u1"
    with opened(path) as again:
        assert [head.id for head in again.heads] == ["u1", new]
        assert again.name is None


def test_a_file_that_cannot_be_made_whole_is_not_there(tmp_path: Path) -> None:
    session = Session.create("/home/dev", str(tmp_path))
    session.append_message(user("x" * 500))
    path = Path(session.path or "")
    with no_room(path, 100), pytest.raises(WriteFailed):
        session.append_message(answer())
    assert not path.exists()
    assert len(session.heads) == 1
    session.append_message(answer())
    assert len(ids(path)) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_takes_the_entry_back_and_room_helps(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no small file system here: {mounted.stderr.decode().strip()}")
    try:
        path = write(disk / "s.jsonl", said("u1", None))
        (disk / "ballast").write_bytes(b"x" * 24_000)
        session = opened(path)
        stored = ["u1"]
        with pytest.raises(WriteFailed, match="No space left"):  # noqa: PT012
            while True:
                stored.append(session.append_message(user("y" * 3000)))
        assert [head.id for head in session.heads] == stored
        (disk / "ballast").unlink()
        stored.append(session.append_message(user("kept")))
        session.close()
        with opened(path) as again:
            assert [head.id for head in again.path_heads()] == stored
            again.close()
    finally:
        subprocess.run(["umount", disk], check=True)


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder of a user whom file modes bind."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


def test_a_read_only_file_can_be_read_and_written_once_it_may_be() -> None:
    with as_nobody() as folder:
        path = write(folder / "s.jsonl", said("u1", None))
        path.write_bytes(path.read_bytes() + b'{"torn')
        path.chmod(0o400)
        session = opened(path)
        assert shown(session) == ["u1"]
        with pytest.raises(WriteFailed, match="Permission denied"):
            session.append_message(user())
        path.chmod(0o600)
        new = session.append_message(user("next"))
        session.close()
        assert [head.id for head in opened(path).heads] == ["u1", new]


def test_a_file_that_cannot_be_read_is_neither_opened_nor_forked() -> None:
    with as_nobody() as folder:
        path = write(folder / "s.jsonl", said("u1", None))
        path.chmod(0)
        for attempt in (opened, lambda path: fork_from(str(path), "/home/dev", str(folder))):
            with pytest.raises(SessionError, match="Permission denied"):
                attempt(path)
        assert [found.name for found in folder.iterdir()] == ["s.jsonl"]


def test_a_read_only_folder_is_told_at_the_start_or_at_the_first_answer() -> None:
    with as_nobody() as folder:
        session = Session.create("/home/dev", str(folder))
        session.append_message(user())
        folder.chmod(0o500)
        with pytest.raises(WriteFailed, match="Permission denied"):
            session.begin()
        with pytest.raises(WriteFailed, match="cannot be made"):
            Session.create("/home/dev", str(folder / "sub"))
        with pytest.raises(WriteFailed, match="cannot be written to"):
            Session.create("/home/dev", str(folder))
        with pytest.raises(WriteFailed, match="cannot be written to"):
            Session.open(str(folder / "new.jsonl"))
        folder.chmod(0o700)
        session.begin()
        assert session.saved


# -------------------------------------------------------------------------------------- files that change underneath


def test_a_deleted_file_is_made_again_with_its_whole_history(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), "{damaged", said("a1", "u1", role="assistant"))
    before = path.read_bytes()
    session = opened(path)
    path.unlink()
    new = session.append_message(user("next"))
    assert path.read_bytes().startswith(before)
    with opened(path) as again:
        assert [head.id for head in again.heads] == ["u1", "a1", new]
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_gone_is_told_and_can_come_back(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    path = write(tmp_path / "sub" / "s.jsonl", said("u1", None))
    session = opened(path)
    shutil.rmtree(tmp_path / "sub")
    with pytest.raises(WriteFailed, match="No such file"):
        session.append_message(user("lost"))
    assert session.leaf_id == "u1"
    (tmp_path / "sub").mkdir()
    new = session.append_message(user("kept"))
    assert [head.id for head in opened(path).heads] == ["u1", new]


def test_an_older_copy_put_back_gets_the_branch_in_use_again(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    copy = path.read_bytes()
    session = opened(path)
    first = session.append_message(answer("one"))
    session.branch("u1")
    session.append_message(answer("other branch"))
    session.branch(first)
    (tmp_path / "old").write_bytes(copy)
    (tmp_path / "old").replace(path)
    second = session.append_message(user("two"))
    with opened(path) as again:
        assert [head.id for head in again.path_heads()] == ["u1", first, second]
    assert [head.id for head in session.heads] == ["u1", first, second]


def test_another_session_at_the_path_is_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    write(tmp_path / "other", said("x1", None), header=HEADER | {"id": "another"})
    (tmp_path / "other").replace(path)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(HistoryChanged, match="no longer the file"):
            session.append_message(user())
    assert path.read_bytes() == before
    write(tmp_path / "back", said("u1", None))
    (tmp_path / "back").replace(path)
    new = session.append_message(user("kept"))
    assert ids(path) == ["u1", new]


def test_a_file_cut_in_place_is_noticed_and_the_session_goes_on_from_what_is_left(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), said("a1", "u1", role="assistant"), said("u2", "a1"))
    session = opened(path)
    os.truncate(path, path.read_bytes().index(b'{"type": "message", "id": "u2"'))
    with pytest.raises(HistoryChanged, match="goes on from the last entry"):
        session.append_message(user("lost"))
    new = session.append_message(user("kept"))
    assert ids(path) == ["u1", "a1", new]
    assert session.head(new).parent_id == "a1"


def test_a_file_edited_in_place_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None), said("u2", "u1"))
    session = opened(path)
    with path.open("r+b") as file:
        text = file.read().replace(b"u1", b"user-one")
        file.seek(0)
        file.write(text)
    new = session.append_message(user("next"))
    assert [head.id for head in session.path_heads()] == ["user-one", "u2", new]


# -------------------------------------------------------------------------------------------------- several processes


@pytest.mark.parametrize("count", [2, 8])
def test_several_writers_lose_nothing_and_each_goes_on_with_its_own_branch(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    writers = [start_writer(path, 60, f"w{number}") for number in range(count)]
    told = [writer.communicate()[0].split() for writer in writers]
    session = opened(path)
    assert not session.problems
    assert len(session.heads) == 1 + 60 * count
    for acknowledged in told:
        assert len(acknowledged) == 60
        assert [head.id for head in session.path_heads(acknowledged[-1])][-60:] == acknowledged


def test_entries_of_another_process_become_known_and_the_leaf_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    one, two = opened(path), opened(path)
    first = one.append_message(user("one"))
    second = two.append_message(user("two"))
    assert two.head(second).parent_id == "u1"
    assert [head.id for head in two.heads] == ["u1", first, second]
    assert (one.leaf_id, two.leaf_id) == (first, second)
    third = one.append_message(user("three"))
    assert [head.id for head in one.heads] == ["u1", first, second, third]


def test_a_process_that_holds_the_lock_too_long_is_an_error_and_no_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    holder = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", holder, path], **pipes) as process:
        assert process.stdout is not None
        process.stdout.readline()
        monkeypatch.setattr(jsonl, "LOCK_SECONDS", 0.2)
        with pytest.raises(WriteFailed, match="locked by another process"):
            session.append_message(user("lost"))
        process.kill()
    new = session.append_message(user("kept"))
    assert ids(path) == ["u1", new]


def kill_one_writer(folder: Path, number: int, randomly: random.Random) -> None:
    path = folder / f"{number}.jsonl"
    with start_writer(path, 100_000, str(randomly.random())) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip()]
        time.sleep(randomly.uniform(0, 0.1))
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.read().split("\n")
    with opened(path) as session:
        known = {head.id for head in session.heads}
        assert not {id for id in told if len(id) == 8} - known
        new = session.append_message(user("next"))
    with opened(path) as again:
        assert [problem.kind for problem in again.problems] in ([], ["malformed"])
        assert len(again.path_heads(new)) == len(known) + 1


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    randomly = random.Random(20)
    for number in range(20):
        kill_one_writer(tmp_path, number, randomly)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_what_was_acknowledged_survives_two_hundred_kills(tmp_path: Path) -> None:
    seed = int(os.environ.get("PIOLET_SOAK_SEED", "0")) or random.randrange(2**32)
    print(f"seed {seed}")
    randomly = random.Random(seed)
    for number in range(200):
        kill_one_writer(tmp_path, number, randomly)


# ---------------------------------------------------------------------------------------------------------- resources


def test_many_open_sessions_need_few_descriptors(tmp_path: Path) -> None:
    sessions = [opened(write(tmp_path / f"{number}.jsonl", said("u1", None))) for number in range(300)]
    for session in sessions:
        session.append_message(user("next"))
    assert len(os.listdir("/dev/fd")) < 150
    for session in sessions:
        assert shown(session) == ["u1", "next"]
        session.close()


def test_a_deleted_file_whose_descriptor_was_given_back_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    session.close()
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(WriteFailed, match="No such file"):
        session.append_message(user("lost"))
    (tmp_path / "elsewhere").rename(path)
    new = session.append_message(user("kept"))
    assert ids(path) == ["u1", new]


def test_another_file_at_the_path_is_never_read_as_this_session(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    session.close()
    write(tmp_path / "other", said("x1", None), header=HEADER | {"id": "another"})
    (tmp_path / "other").replace(path)
    with pytest.raises(HistoryChanged, match="another file stands in its place"):
        session.build_context()
    with pytest.raises(HistoryChanged, match="no longer the file"):
        session.append_message(user())
    session.close()


def test_a_forked_process_has_its_own_lock(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", said("u1", None))
    session = opened(path)
    child = os.fork()
    if child == 0:
        try:
            for number in range(100):
                session.append_message(user(f"child {number}"))
        finally:
            os._exit(0)
    for number in range(100):
        session.append_message(user(f"parent {number}"))
    os.waitpid(child, 0)
    with opened(path) as again:
        assert (len(again.heads), list(again.problems)) == (201, [])
