"""A far side that needs nothing but a shell."""

from __future__ import annotations

import pytest

from piolet.harness.environments.shell import ShellEnvironment
from tests.support.far import FarPlaces


@pytest.fixture
def far_shell(far: FarPlaces) -> ShellEnvironment:
    """A shell of this machine as a far side, without ripgrep."""
    return far.environment("shell-without-ripgrep", far.folder)
