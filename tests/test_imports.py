"""Start-up is a feature: what is heavy is imported by the run that needs it, and not before."""

from __future__ import annotations

import pytest

from tests.support import replies
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer

TERMINAL = {"textual", "rich", "pygments", "markdown_it"}
DATA = {"PIL", "ruamel", "fastjsonschema", "pathspec", "sqlite3"}
NETWORK = {"httpx", "truststore"}  # and ssl, which asyncio imports

EXTRAS = {"botocore", "google", "mcp", "sqlalchemy"}


def imported(place: Place, *argv: str) -> set[str]:
    """Run piolet to its end; return the top-level packages that it has imported."""
    python, *rest = PIOLET
    finished = place.run(*rest, *argv, command=(python, "-X", "importtime"))
    assert finished.exit == 0, finished.stderr
    lines = [line for line in finished.stderr.splitlines() if line.startswith("import time:")]
    packages = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "piolet" in packages
    return packages


def test_version_imports_next_to_nothing(place: Place) -> None:
    heavy = TERMINAL | DATA | NETWORK | EXTRAS | {"asyncio", "ssl", "msgspec", "jiter", "argparse", "re", "json"}
    assert imported(place, "--version") & heavy == set()


@pytest.mark.parametrize("option", ["--help", "--list-models"])
def test_what_only_prints_imports_nothing_heavy(place: Place, option: str) -> None:
    place.write_models("http://127.0.0.1:1")
    assert imported(place, option) & (TERMINAL | DATA | NETWORK | EXTRAS) == set()


def test_a_run_without_a_network_imports_nothing_of_it(place: Place) -> None:
    ours = imported(place, "-p", "--model", "demo/scripted", "Hello")
    assert ours & (TERMINAL | NETWORK | EXTRAS | {"PIL", "ruamel", "pathspec", "sqlite3"}) == set()


def test_a_run_imports_no_part_of_the_terminal_and_no_tool_before_its_call(place: Place) -> None:
    with ScriptedServer([replies.openai("Hello.")]) as server:
        place.write_models(server.url)
        ours = imported(place, "-p", "--model", "stub/m1", "Hello")
    assert "httpx" in ours
    assert ours & (TERMINAL | DATA | EXTRAS | {"click"}) == set()  # httpx loads its command line where click is
