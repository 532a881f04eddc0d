from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from piolet.llm.pool import HttpPool


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    """HTTP clients of one test."""
    pool = HttpPool()
    yield pool
    await pool.aclose()
