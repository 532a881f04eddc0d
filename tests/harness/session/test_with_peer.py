"""One session file, two programs: what one begins the other continues, also at the same time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from piolet.base.json import loads
from piolet.harness.session.session import Session
from tests.harness.session.making import user
from tests.harness.session.writer import start_writer
from tests.support import replies
from tests.support.peer import Peer
from tests.support.run import PIOLET, Place
from tests.support.server import Request, ScriptedServer

APPEND = """
const { SessionManager } = await import(process.argv[1] + "/dist/index.js");
const session = SessionManager.open(process.argv[2]);
for (let n = 0; n < Number(process.argv[3]); n++) {
  const text = ("peer " + n + " ").padEnd(5 + (n * 977) % 9000, "y");
  console.log(session.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }));
}
"""


def entries(path: Path) -> list[dict[str, Any]]:
    return [loads(line) for line in path.read_bytes().split(b"\n") if line]


def asked(request: Request) -> str:
    """Return all text of what user and model said in a request."""
    return json.dumps([message for message in request.body["messages"] if message["role"] in ("user", "assistant")])


def compact(place: Place, path: Path, command: tuple[str, ...]) -> None:
    with place.start("--mode", "rpc", "--session", str(path), command=command) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"type":"compact"}\n')
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line)["type"] == "response":
                assert json.loads(line)["success"], line
                break
        process.stdin.close()
        process.stdout.read()


def test_five_turns_in_turn_with_branches_and_a_compaction(place: Place, peer: Peer) -> None:
    answers = [f"ANSWER{number}" for number in range(20)]

    def answer(request: Request) -> Any:
        if "summar" in json.dumps(request.body["messages"][-1]).lower():
            return replies.openai("THE-SUMMARY")
        return replies.openai(answers.pop(0))

    with ScriptedServer(answer) as server:
        place.write_models(server.url)
        place.write_settings({"compaction": {"keepRecentTokens": 1}})

        def ask(command: tuple[str, ...], text: str, *argv: str) -> str:
            before = len(server.requests)
            done = place.run("-p", "--model", "stub/m1", *argv, text, command=command, timeout=60)
            assert done.exit == 0, done.stderr
            return asked(server.requests[before])

        ours, theirs = PIOLET, (str(peer.command),)
        ask(ours, "Q0")
        [path] = place.sessions()
        known = entries(path)
        told = ["Q0", "ANSWER0"]
        for number, command in enumerate((theirs, ours, theirs, ours, theirs), 1):
            request = ask(command, f"Q{number}", "--continue")
            assert all(text in request for text in told), (number, request)
            told += [f"Q{number}", f"ANSWER{number}"]
            assert entries(path)[: len(known)] == known
            known = entries(path)

        with Session.open(str(path)) as session:
            branch_point = next(head for head in session.heads if head.role == "assistant")
            session.branch(branch_point.id)
            session.append_message(user("OTHER-WAY"))
        for command in (theirs, ours):
            request = ask(command, "and then", "--session", str(path))
            assert "OTHER-WAY" in request
            assert "ANSWER0" in request
            assert "Q1" not in request

        for compacting in (theirs, ours):
            compact(place, path, compacting)
            for command in (ours, theirs):
                request = ask(command, "still there?", "--session", str(path))
                assert "THE-SUMMARY" in request
                assert "Q0" not in request
        final = entries(path)
        assert final[: len(known)] == known
        assert place.sessions() == [path]
        with Session.open(str(path), read_only=True) as session:
            assert not session.problems
            assert len(session.heads) == len(final) - 1


def test_both_append_at_once_and_nothing_is_lost(tmp_path: Path, peer: Peer) -> None:
    if peer.package is None or "NODE_BIN" not in os.environ:
        pytest.skip("the peer's package and node are not known (PI_PKG, NODE_BIN)")
    path = tmp_path / "s.jsonl"
    session = Session.open(str(path), str(tmp_path))
    session.begin()
    node = Path(os.environ["NODE_BIN"]) / "node"
    script = [str(node), "--input-type=module", "-e", APPEND, str(peer.package), str(path), "300"]
    env = {"HOME": str(tmp_path), "PI_OFFLINE": "1", "PATH": os.environ["PATH"]}
    with subprocess.Popen(script, env=env, stdout=subprocess.PIPE, text=True) as theirs:
        with start_writer(path, 300, "ours") as ours:
            our_ids = ours.communicate(timeout=60)[0].split()
        their_ids = theirs.communicate(timeout=60)[0].split()
    assert (len(our_ids), len(their_ids)) == (300, 300)
    with Session.open(str(path)) as session:
        assert not session.problems
        assert len(session.heads) == 600
        for ids in (our_ids, their_ids):
            assert [head.id for head in session.path_heads(ids[-1])][-300:] == ids
