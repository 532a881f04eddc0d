"""An expired login in the hands of many: one renewal, and everybody goes on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from piolet.llm.credentials.errors import CredentialError
from piolet.llm.models import Models
from tests.support.oauth_server import OAuthServer

ASK = """
import asyncio, sys
from pathlib import Path
from piolet.llm.models import Models

async def main():
    models = Models.open(Path(sys.argv[1]))
    model = models.find("acme", "m")
    print((await models.resolve_auth(model)).api_key)

asyncio.run(main())
"""


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with OAuthServer().running() as running:
        yield running


@pytest.fixture
def agent_dir(tmp_path: Path, server: OAuthServer) -> Path:
    """An agent folder with an expired login of the provider acme."""
    login = {"clientId": "mine", "tokenUrl": f"{server.url}/token", "authorizeUrl": f"{server.url}/authorize"}
    custom = {"baseUrl": server.url, "api": "openai-completions", "models": [{"id": "m"}], "login": login}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"acme": custom}}))
    stored = {"type": "oauth", "access": "old", "refresh": "refresh-0", "expires": 1000, "account": "mine"}
    (tmp_path / "auth.json").write_text(json.dumps({"acme": stored, "groq": {"type": "api_key", "key": "k"}}))
    return tmp_path


def stored(agent_dir: Path) -> Any:
    return json.loads((agent_dir / "auth.json").read_text())


async def ask(models: Models) -> str | None:
    model = models.find("acme", "m")
    assert model is not None
    return (await models.resolve_auth(model)).api_key


def test_processes_that_race_renew_once(agent_dir: Path, server: OAuthServer) -> None:
    server.delay = 0.5
    command = [sys.executable, "-c", ASK, str(agent_dir)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["access-1\n"] * 5
    assert (server.refreshes, server.refused_refreshes) == (1, 0)
    entry = stored(agent_dir)["acme"]
    assert (entry["access"], entry["refresh"], entry["account"]) == ("access-1", "refresh-1", "mine")
    assert stored(agent_dir)["groq"] == {"type": "api_key", "key": "k"}
    assert sorted(os.listdir(agent_dir)) == ["auth.json", "models.json"]


async def test_many_requests_of_one_process_renew_once(agent_dir: Path, server: OAuthServer) -> None:
    server.delay = 0.1
    models = Models.open(agent_dir)
    assert await asyncio.gather(*(ask(models) for _ in range(20))) == ["access-1"] * 20
    assert server.refreshes == 1


def test_a_lock_left_by_a_crash_does_not_lock_out(agent_dir: Path, server: OAuthServer) -> None:
    (agent_dir / "auth.json.lock").mkdir()
    os.utime(agent_dir / "auth.json.lock", (time.time() - 3600,) * 2)
    command = [sys.executable, "-c", ASK, str(agent_dir)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["access-1\n"] * 3
    assert server.refreshes == 1


async def test_a_request_that_is_given_up_does_not_stop_the_renewal(agent_dir: Path, server: OAuthServer) -> None:
    server.delay = 0.3
    models = Models.open(agent_dir)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await ask(models)
    assert await ask(models) == "access-1"
    assert (server.refreshes, server.refused_refreshes) == (1, 0)


async def test_a_refused_renewal_leaves_the_file_and_says_what_to_do(agent_dir: Path, server: OAuthServer) -> None:
    server.valid_refresh = "another"
    before = (agent_dir / "auth.json").read_bytes()
    with pytest.raises(CredentialError, match="piolet auth login acme"):
        await ask(Models.open(agent_dir))
    assert (agent_dir / "auth.json").read_bytes() == before
