"""Pasting what is no text, through a program that stands for the desktop's clipboard (specification, section 4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.modes.interactive.desk import opened

PICTURE = b"\x89PNG\r\n\x1a\nrest of it"


@pytest.fixture
def clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files are the forms in which the clipboard can be had."""
    folder, programs = tmp_path / "clipboard", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    script = programs / "xclip"
    script.write_text(
        '#!/bin/sh\nkind=text\nwhile [ $# -gt 0 ]; do [ "$1" = -target ] && kind=$(basename "$2"); shift; done\n'
        f'exec cat "{folder}/$kind"\n'
    )
    script.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return folder


async def test_a_picture_becomes_a_private_file_whose_path_is_pasted(clipboard: Path, tmp_path: Path) -> None:
    (clipboard / "png").write_bytes(PICTURE)
    async with opened(tmp_path) as desk:
        desk.key("ctrl+v")
        await desk.until(lambda: desk.draft.endswith(".png"))
        path = Path(desk.draft)
        assert path.name.startswith("pi-clipboard-")
        assert path.read_bytes() == PICTURE
        assert path.stat().st_mode & 0o777 == 0o600


async def test_files_become_their_paths(clipboard: Path, tmp_path: Path) -> None:
    (clipboard / "uri-list").write_text("file:///a/b%20c.txt\r\nfile:///d.png\r\n")
    (clipboard / "png").write_bytes(PICTURE)
    async with opened(tmp_path) as desk:
        desk.key("ctrl+v")
        await desk.until(lambda: desk.draft == "/a/b c.txt /d.png")


async def test_text_is_pasted_when_there_is_nothing_else(clipboard: Path, tmp_path: Path) -> None:
    (clipboard / "text").write_text("just words")
    async with opened(tmp_path) as desk:
        desk.key("ctrl+v")
        await desk.until(lambda: desk.draft == "just words")
