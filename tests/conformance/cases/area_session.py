"""Cases about session files."""

from __future__ import annotations

import base64
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piolet.base.ids import now_ms
from piolet.harness.messages import BranchSummaryMessage, CompactionSummaryMessage
from piolet.harness.session.errors import SessionError, WriteFailed
from piolet.harness.session.naming import folder_name, is_session_id
from piolet.harness.session.session import Session
from piolet.llm.messages import UserMessage, text_of
from tests.conformance.outcome import Skip, equal
from tests.harness.session.writer import start_writer
from tests.support import replies
from tests.support.run import PIOLET, Place
from tests.support.server import ScriptedServer
from tests.support.timing import within

_FUNCTIONS: dict[str, Callable[[str], object]] = {
    "session_dir_name": folder_name,
    "session_id_valid": is_session_id,
}


def check_case(case: dict[str, Any]) -> None:
    given = case["input"]
    if "function" in given:
        function = _FUNCTIONS.get(given["function"])
        if function is None:
            raise Skip(f"unknown function {given['function']!r}")
        equal([function(value) for value in given["values"]], case["expected"]["result"])
    elif "steps" in given:
        _check_steps(case)
    elif "processes" in given:
        _check_writers(case)
    elif (check := _PROGRAM_RUNS.get(given.get("run"))) is not None:
        with tempfile.TemporaryDirectory() as folder:
            check(Place.below(Path(folder)))
    else:
        raise Skip(f"unknown run {given.get('run')!r}")


def _check_steps(case: dict[str, Any]) -> None:
    expected = dict(case["expected"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        before = _write_session(path, case["setup"]["session_file"], folder)
        start = time.monotonic()
        run = _Run(path)
        for step in case["input"]["steps"]:
            run.take(step)
            if run.refused:
                break
        run.check(expected, before, time.monotonic() - start)


class _Run:
    """One session file while the steps of a case are taken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session: Session | None = None
        self.refused = False
        self._context: list[tuple[str, str]] = []
        self._opened: dict[str, Any] = {}
        self._appended: list[str] = []

    def take(self, step: str) -> None:
        name, _, text = step.partition(":")
        if name == "open":
            try:
                self._session = Session.open(str(self._path))
            except SessionError:
                self.refused = True
                return
            labels = {id: label.text for id, label in self._session.labels.items()}
            self._opened = {"leaf": self._session.leaf_id, "labels": labels}
            return
        session = self._session
        assert session is not None, "the session was not opened"
        match name:
            case "context":
                self._context = _shown(session)
            case "append_user":
                self._appended.append(session.append_message(UserMessage(text, now_ms())))
            case "delete_file":
                self._path.unlink()
            case "append_user_with_injected_write_error":
                with _no_room(self._path):
                    try:
                        session.append_message(UserMessage(text, now_ms()))
                    except WriteFailed:
                        return
                raise AssertionError("the append did not tell of the failed write")
            case _:
                raise Skip(f"unknown step {step!r}")

    def check(self, expected: dict[str, Any], before: bytes, seconds: float) -> None:
        roles = [role for role, _ in self._context]
        texts = [text for _, text in self._context]
        for key, value in expected.items():
            match key:
                case "open":
                    assert value == "ok_or_refused" or (value == "refused") == self.refused, f"refused: {self.refused}"
                case "file_unchanged":
                    assert (self._path.read_bytes() == before) == value, "the file changed"
                case "context_texts":
                    equal(texts, value)
                case "context_roles":
                    equal(roles, value)
                case "context_count":
                    equal(len(texts), value)
                case "context_contains":
                    assert all(any(part in text for text in texts) for part in value), texts
                case "context_not_contains":
                    assert not any(part in text for text in texts for part in value), texts
                case "first_context_contains":
                    assert value in texts[0], texts[0]
                case "finishes_within_s":
                    within(seconds, value)
                case "leaf" | "labels":
                    equal(self._opened[key], value)
                case "append":
                    self._check_append(self._appended[0], value)
                case "second_append":
                    self._check_append(self._appended[-1], value)
                case _:
                    raise Skip(f"unknown expectation {key!r}")

    def _check_append(self, id: str, expected: dict[str, Any]) -> None:
        raw = self._path.read_bytes()
        text = raw.decode("utf-8", "replace")
        lines = [line for line in text.split("\n") if f'"{id}"' in line]
        entry = json.loads(lines[0])
        for key, value in expected.items():
            match key:
                case "parentId":
                    equal(entry["parentId"], value)
                case "reload_texts":
                    equal([text for _, text in _shown(Session.open(str(self._path)))], value)
                case "first_line_type":
                    equal(json.loads(text.split("\n")[0])["type"], value)
                case "still_has":
                    assert value in text, text
                case "file_valid_utf8":
                    raw.decode()
                case "no_token":
                    assert not any(token in text for token in value), text
                case _:
                    raise Skip(f"unknown expectation {key!r}")


def _check_writers(case: dict[str, Any]) -> None:
    count = case["input"]["entries_each"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        before = _write_session(path, case["setup"]["session_file"], folder)
        writers = [start_writer(path, count, f"writer{number}") for number in range(case["input"]["processes"])]
        told = [(writer.communicate()[0].split(), writer.returncode) for writer in writers]
        assert path.read_bytes().startswith(before)
        session = Session.open(str(path))
        assert not session.problems, session.problems
        for ids, code in told:
            assert code == 0
            assert len(ids) == count
            chain = [head.id for head in session.path_heads(ids[-1])]
            assert chain[-count:] == ids, "the entries of a process are no chain"
        assert len(session.heads) == before.count(b"\n") - 1 + count * len(writers)


def _check_read_only_folder(place: Place) -> None:
    command = PIOLET
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            raise Skip("file modes do not bind root")
        command = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *PIOLET)
    folder = place.home / "sessions"
    folder.mkdir(mode=0o555)
    with ScriptedServer([replies.openai("Hello world.")]) as server:
        place.write_models(server.url)
        done = place.run("-p", "--model", "stub/m1", "--session-dir", str(folder), "hi", command=command)
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert done.exit != 0 or done.stderr, "nobody is told"
    assert "written" in done.stderr or "Permission denied" in done.stderr, done.stderr


def _check_killed_answer(place: Place) -> None:
    begun = {"stream": [{"delta": {"role": "assistant", "content": "Hel"}}, {"sleep_ms": 30_000}]}
    silent = {"delay_ms": 30_000, "stream": []}
    for reply, files in ((begun, 1), (silent, 0)):
        with ScriptedServer([reply]) as server:
            place.write_models(server.url)
            with place.start("-p", "--model", "stub/m1", "the question") as process:
                assert process.stdin is not None
                process.stdin.close()
                server.wait_for_requests(1)
                time.sleep(1)
                process.kill()
        found = place.sessions()
        assert len(found) == files, found
        for file in found:
            lines = [json.loads(line) for line in file.read_text().split("\n") if line]
            assert lines[0]["type"] == "session"
            assert any("the question" in json.dumps(line) for line in lines), lines
            file.unlink()


def _check_no_message(place: Place) -> None:
    done = place.run("--mode", "rpc", stdin='{"type":"get_state"}\n')
    assert done.exit == 0, done.stderr
    assert done.records[0]["success"], done.stdout
    assert place.sessions() == []


_PROGRAM_RUNS: dict[Any, Callable[[Place], None]] = {
    "print mode, prompt 'hi'": _check_read_only_folder,
    "print mode; kill -9 one second after the delta was sent. Then the same with a server that accepts the request "
    "and never answers": _check_killed_answer,
    "rpc mode, get_state, end of input": _check_no_message,
}


@contextmanager
def _no_room(path: Path) -> Iterator[None]:
    """No file may grow: the next write fails after some of its bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _shown(session: Session) -> list[tuple[str, str]]:
    shown = []
    for message in session.build_context().messages:
        if isinstance(message, BranchSummaryMessage | CompactionSummaryMessage):
            shown.append((message.role, message.summary))
        else:
            shown.append((message.role, text_of(getattr(message, "content", ""))))
    return shown


def _write_session(path: Path, content: dict[str, Any], cwd: str) -> bytes:
    if "b64" in content:
        data = base64.b64decode(content["b64"])
    elif "text" in content:
        if content["text"].startswith("generate:"):
            raise Skip(f"does not know how to generate {content['text']!r}")
        data = content["text"].encode("utf-8", "surrogatepass")
    else:
        repeated = content["repeat"]["unit"] * content["repeat"]["count"]
        data = (content.get("prefix", "") + repeated + content.get("suffix", "")).encode()
    data = data.replace(b"<CWD>", cwd.encode())
    path.write_bytes(data)
    return data
