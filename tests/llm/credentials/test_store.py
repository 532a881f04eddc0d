"""auth.json: private, whole, shared with other processes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from piolet.base.ids import now_ms
from piolet.llm.credentials.errors import AuthFileError, LoginError, NotLoggedIn
from piolet.llm.credentials.records import ApiKeyCredential, OAuthCredential
from piolet.llm.credentials.store import AuthFile, MemoryCredentials

SECRET = "sk-very-secret-0123456789"
EXPIRED = {"type": "oauth", "access": "old", "refresh": "r1", "expires": 1000, "accountId": "acc"}


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    old = os.umask(0o022)
    yield
    os.umask(old)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_stored_key_is_readable_by_the_user_alone(tmp_path: Path) -> None:
    AuthFile(tmp_path / "agent" / "auth.json").set("groq", ApiKeyCredential(SECRET))
    assert mode(tmp_path / "agent" / "auth.json") == 0o600
    assert mode(tmp_path / "agent") == 0o700
    assert [path.name for path in (tmp_path / "agent").iterdir()] == ["auth.json"]


def test_what_we_do_not_know_stays(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    text = {"a": {"type": "api_key", "key": "k", "note": 1}, "b": {**EXPIRED, "scopes": ["x"]}}
    path.write_text(json.dumps(text))
    store = AuthFile(path)
    store.set("groq", ApiKeyCredential("new", {"X": "1"}))
    assert store.remove("a")
    assert not store.remove("a")
    assert json.loads(path.read_text()) == {
        "b": text["b"],
        "groq": {"type": "api_key", "key": "new", "env": {"X": "1"}},
    }
    login = store.get("b")
    assert isinstance(login, OAuthCredential)
    assert login.to_json() == text["b"]


def test_a_change_by_another_process_is_seen(tmp_path: Path) -> None:
    store = AuthFile(tmp_path / "auth.json")
    assert store.get("groq") is None
    AuthFile(tmp_path / "auth.json").set("groq", ApiKeyCredential("k"))
    assert store.get("groq") == ApiKeyCredential("k")


@pytest.mark.parametrize(
    "entry",
    [
        *("sk-text", 5, None, [], {"type": "weird"}, {"type": "api_key", "key": 5}),
        *({"type": "api_key", "env": {"X": 1}}, {"type": "oauth", "access": SECRET}),
    ],
)
def test_an_entry_that_cannot_be_understood_harms_its_own_provider_alone(tmp_path: Path, entry: Any) -> None:
    path = tmp_path / "auth.json"
    path.write_text(json.dumps({"a": entry, "b": {"type": "api_key", "key": "k"}}))
    store = AuthFile(path)
    with pytest.raises(AuthFileError) as caught:
        store.get("a")
    assert f'{path}, entry "a"' in str(caught.value)
    assert SECRET not in str(caught.value)
    assert store.get("b") == ApiKeyCredential("k")
    store.set("c", ApiKeyCredential("n"))
    assert json.loads(path.read_text())["a"] == entry
    assert store.remove("a")
    assert store.providers() == ["b", "c"]


@pytest.mark.parametrize("text", ["{oops", "[]", "\xff\xfe", "[" * 100_000])
def test_a_file_that_cannot_be_understood_is_named_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "auth.json"
    path.write_bytes(text.encode("latin-1"))
    store = AuthFile(path)
    with pytest.raises(AuthFileError) as caught:
        store.get("a")
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)
    with pytest.raises(AuthFileError):
        store.set("groq", ApiKeyCredential("k"))
    assert path.read_bytes() == text.encode("latin-1")


def test_a_file_that_another_program_is_writing_in_place_is_read_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("piolet.base.dirlock.READER_PATIENCE", 60)
    path, lock = tmp_path / "auth.json", tmp_path / "auth.json.lock"
    path.write_text('{"groq": {"type": "api_key",')
    lock.mkdir()

    def finish() -> None:
        path.write_text('{"groq": {"type": "api_key", "key": "k"}}')
        lock.rmdir()

    writer = threading.Timer(0.05, finish)
    writer.start()
    assert AuthFile(path).get("groq") == ApiKeyCredential("k")
    writer.join()


def test_symlinks_to_one_file_share_its_lock(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "auth.json").symlink_to("real.json")
    (tmp_path / "real.json.lock").mkdir()
    stale_at = time.time() + 1
    os.utime(tmp_path / "real.json.lock", (stale_at - 10,) * 2)
    AuthFile(tmp_path / "auth.json").set("groq", ApiKeyCredential("k"))
    assert time.time() > stale_at - 0.1
    assert (tmp_path / "auth.json").is_symlink()
    assert "groq" in json.loads((tmp_path / "real.json").read_text())


def test_writers_in_several_processes_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from piolet.llm.credentials.store import AuthFile\n"
        "from piolet.llm.credentials.records import ApiKeyCredential\n"
        "for i in range(10): AuthFile(Path(sys.argv[1])).set(f'{sys.argv[2]}-{i}', ApiKeyCredential('k'))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "auth.json")]
    workers = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert len(AuthFile(tmp_path / "auth.json").providers()) == 30


def test_a_login_is_renewed_once_it_has_less_than_five_minutes(tmp_path: Path) -> None:
    store = AuthFile(tmp_path / "auth.json")
    fresh = OAuthCredential("new", "r2", now_ms() + 3_600_000)
    for left_ms, renewed in ((6 * 60_000, False), (4 * 60_000, True)):
        store.set("x", OAuthCredential("old", "r1", now_ms() + left_ms))
        assert store.refresh("x", lambda old: fresh).access == ("new" if renewed else "old")
    assert store.get("x") == fresh


def test_a_token_that_lives_shorter_is_renewed_by_one_of_those_who_wait(tmp_path: Path) -> None:
    store, other = AuthFile(tmp_path / "auth.json"), AuthFile(tmp_path / "auth.json")
    store.set("x", OAuthCredential("old", "r1", now_ms() - 1))
    short = OAuthCredential("new", "r2", now_ms() + 60_000)
    outer = store.get("x")

    def while_waiting(provider: str) -> object:
        """The other process renews between our first look and our lock."""
        monkey.undo()
        assert other.refresh("x", lambda old: short) == short
        return outer

    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(store, "get", while_waiting)
        assert store.refresh("x", lambda old: pytest.fail("renewed twice")) == short


def test_a_failed_renewal_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    path.write_text(json.dumps({"x": EXPIRED}))
    before = path.read_bytes()

    def refuse(old: OAuthCredential) -> OAuthCredential:
        raise LoginError("log in again")

    with pytest.raises(LoginError):
        AuthFile(path).refresh("x", refuse)
    assert path.read_bytes() == before
    assert not (tmp_path / "auth.json.lock").exists()


def test_a_renewed_token_is_not_written_over_the_work_of_who_took_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    path.write_text(json.dumps({"x": EXPIRED}))

    def lose_lock(old: OAuthCredential) -> OAuthCredential:
        (tmp_path / "auth.json.lock").rename(tmp_path / "gone")
        (tmp_path / "auth.json.lock").mkdir()
        return OAuthCredential("new", "r2", now_ms() + 3_600_000)

    with pytest.raises(AuthFileError, match="taken over"):
        AuthFile(path).refresh("x", lose_lock)
    assert json.loads(path.read_text()) == {"x": EXPIRED}


def test_only_a_login_can_be_renewed() -> None:
    with pytest.raises(NotLoggedIn, match="piolet auth login x"):
        MemoryCredentials({"x": ApiKeyCredential("k")}).refresh("x", lambda old: old)


def test_no_record_shows_its_secret() -> None:
    login = OAuthCredential(SECRET, SECRET, 1, {"id_token": SECRET})
    assert SECRET not in repr(ApiKeyCredential(SECRET, {"X": SECRET}))
    assert SECRET not in repr(login)
    assert SECRET not in repr(MemoryCredentials({"x": login}))
