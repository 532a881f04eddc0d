"""The far sides that the tests of environments share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from piolet.harness.environments.shell import ShellEnvironment
from tests.support.far import FarPlaces


@pytest.fixture(scope="session")
def far() -> Iterator[FarPlaces]:
    with FarPlaces() as places:
        yield places


@pytest.fixture
def far_shell(far: FarPlaces) -> ShellEnvironment:
    """A shell of this machine as a far side, without ripgrep."""
    return far.environment("shell-without-ripgrep", far.folder)
