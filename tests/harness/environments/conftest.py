"""The far sides that the tests of environments share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.far import FarPlaces


@pytest.fixture(scope="session")
def far() -> Iterator[FarPlaces]:
    with FarPlaces() as places:
        yield places
