"""Locks between processes: one holder, broken when stale, never silently lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from piolet.base.dirlock import DirLock, LockBusy, LockLost, dir_lock, wait_for_writer
from tests.support.timing import quickest

COUNT = """
import sys, time
from piolet.base.dirlock import dir_lock
path, rounds = sys.argv[1], int(sys.argv[2])
for _ in range(rounds):
    with dir_lock(path, timeout=60) as lock:
        value = int(open(path).read())
        time.sleep(0.001)
        lock.check()
        open(path, "w").write(str(value + 1))
"""


def test_the_lock_of_a_file_is_a_folder_beside_it_while_it_is_held(tmp_path: Path) -> None:
    with dir_lock(tmp_path / "x.json"):
        assert (tmp_path / "x.json.lock").is_dir()
    assert not (tmp_path / "x.json.lock").exists()


def test_a_held_lock_is_refused_and_names_the_file(tmp_path: Path) -> None:
    def attempt() -> float:
        started = time.monotonic()
        with pytest.raises(LockBusy, match=r"x\.json"), dir_lock(tmp_path / "x.json"):
            pass
        return time.monotonic() - started

    with dir_lock(tmp_path / "x.json"):
        assert 0.15 < quickest(attempt, 1) < 1


def test_a_lock_left_by_a_crash_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "x.json.lock"
    folder.mkdir()
    os.utime(folder, (time.time() - 3600,) * 2)
    with dir_lock(tmp_path / "x.json") as lock:
        lock.check()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_touched_is_not_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piolet.base.dirlock.TOUCH_INTERVAL", 0.05)
    with dir_lock(tmp_path / "x.json"):
        time.sleep(0.5)
        assert not DirLock(tmp_path / "x.json", stale=0.3).try_acquire()


def test_a_lock_taken_over_by_another_is_lost_and_not_removed(tmp_path: Path) -> None:
    with dir_lock(tmp_path / "x.json") as lock:
        os.rename(tmp_path / "x.json.lock", tmp_path / "away")
        (tmp_path / "x.json.lock").mkdir()
        with pytest.raises(LockLost):
            lock.check()
    assert (tmp_path / "x.json.lock").is_dir()


def test_who_may_wait_longer_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    lock = DirLock(tmp_path / "x.json")
    assert lock.try_acquire()
    threading.Timer(0.5, lock.release).start()
    with dir_lock(tmp_path / "x.json", timeout=60) as mine:
        mine.check()


def test_processes_that_race_from_a_stale_lock_never_overlap(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    (tmp_path / "count.lock").mkdir()
    os.utime(tmp_path / "count.lock", (time.time() - 3600,) * 2)
    workers = [subprocess.Popen([sys.executable, "-c", COUNT, str(path), "20"]) for _ in range(4)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    assert path.read_text() == "80"


def test_a_reader_waits_for_the_writer_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, ended = tmp_path / "file", threading.Event()
    (tmp_path / "file.lock").mkdir()
    monkeypatch.setattr("piolet.base.dirlock.READER_PATIENCE", 0.05)
    wait_for_writer(path)
    monkeypatch.setattr("piolet.base.dirlock.READER_PATIENCE", 60)
    reader = threading.Thread(target=lambda: [wait_for_writer(path), ended.set()])
    reader.start()
    assert not ended.is_set()
    (tmp_path / "file.lock").rmdir()
    reader.join()
    assert ended.is_set()
