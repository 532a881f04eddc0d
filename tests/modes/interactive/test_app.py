"""The screen on the toolkit."""

from __future__ import annotations

import contextvars
from pathlib import Path

from tests.modes.interactive.desk import opened


async def test_what_another_thread_wants_repeated_is_repeated(tmp_path: Path) -> None:
    calls: list[int] = []
    async with opened(tmp_path) as desk:
        stop = contextvars.Context().run(desk.face.app.every, 0.01, lambda: calls.append(1))
        await desk.until(lambda: len(calls) > 2)
        stop()
