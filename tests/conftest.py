from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A fresh home and working directory for runs of piolet."""
    return Place.below(tmp_path)
