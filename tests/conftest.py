from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support import aimock as aimock_server
from tests.support import llama as llama_cpp
from tests.support.peer import Peer, require_peer
from tests.support.run import ROOT, Place

if TYPE_CHECKING:
    from tests.support.far import FarPlaces

os.environ["PYTHONPATH"] = str(ROOT / "src")  # for the processes that tests start where piolet is not installed

# A job in the background of a shell is born deaf to these, and so were the processes that it starts.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

# Slowness of the machine is no failure of a property. Based on the profile in force: in CI that one is deterministic.
settings.register_profile("any machine", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for what the program leaves in the folder for temporary files. Its name is short, for sockets."""
    tmp_path_factory.getbasetemp()  # stays where it is
    with (
        tempfile.TemporaryDirectory(prefix="piolet-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr("tempfile.tempdir", folder)
        yield


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A fresh home and working directory for runs of piolet."""
    place = Place.below(tmp_path)
    yield place
    place.leave()


@pytest.fixture(scope="session")
def far() -> Iterator[FarPlaces]:
    """Environments elsewhere, and the ssh server for them."""
    from tests.support.far import FarPlaces

    with FarPlaces() as places:
        yield places


@pytest.fixture
def peer() -> Peer:
    """The installed peer; skips the test where there is none."""
    return require_peer()


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a llama.cpp server with the reciting model, one for all tests of a process."""
    pytest.importorskip("xllamacpp")
    model = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    llama_cpp.write_model(model)
    with llama_cpp.serving(model) as url:
        yield url


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that speaks many protocols with fixed answers; skips the test where it cannot be had."""
    program = aimock_server.require_program()
    with aimock_server.serving(program, tmp_path_factory.mktemp("aimock")) as url:
        yield url
