"""Private files: whole, 0600, through symlinks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from piolet.base.files import replace_file, write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def open_umask() -> object:
    old = os.umask(0o022)
    yield
    os.umask(old)


def test_a_file_and_the_folders_made_for_it_are_private(tmp_path: Path) -> None:
    write_private(tmp_path / "a" / "b" / "auth.json", b"{}")
    assert mode(tmp_path / "a" / "b" / "auth.json") == 0o600
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


def test_an_open_file_becomes_private_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", 0o600)


def test_a_symlink_stays_one_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "auth.json").symlink_to(tmp_path / "real" / "auth.json")
    write_private(tmp_path / "auth.json", b"x")
    assert (tmp_path / "auth.json").is_symlink()
    assert (tmp_path / "real" / "auth.json").read_bytes() == b"x"


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    (tmp_path / "auth.json").mkdir()
    with pytest.raises(OSError):
        write_private(tmp_path / "auth.json", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["auth.json"]


@pytest.mark.parametrize("write", [write_private, replace_file])
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, b"x")
        assert os.read(reader, 9) == b"x"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
