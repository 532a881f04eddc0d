"""What appending does to leaf, memory and file; how a line is written."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from piolet.base.ids import now_ms
from piolet.base.json import loads, to_plain
from piolet.harness.messages import OpaqueMessage
from piolet.harness.normalize import normalize_message
from piolet.harness.session.copying import branched_session
from piolet.harness.session.entries import Replacement
from piolet.harness.session.errors import SessionError
from piolet.harness.session.session import Session
from piolet.llm.normalize import normalize_blocks, normalize_content, normalize_usage
from tests.conformance.outcome import Skip
from tests.conformance.sessions.group_tree import plain_tree
from tests.conformance.sessions.keeping import keeping
from tests.conformance.sessions.vectors import Matcher, expand, file_bytes


def script(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], expand(vector["expected"])
    with tempfile.TemporaryDirectory() as folder:
        if "jsonl" in given or "jsonl_base64" in given:
            session = keeping().put(file_bytes(given), folder)
        elif given.get("inMemory"):  # the vector names the storage itself
            session = Session.in_memory(given.get("cwd", "/home/dev/proj"))
        else:
            session = keeping().create(given.get("cwd", "/home/dev/proj"), folder)
        steps: list[dict[str, Any]] = []
        ids: list[str | None] = []
        for op, *arguments in expand(given["steps"]):
            arguments = [ids[int(a[1:]) - 1] if _is_reference(a) else a for a in arguments]
            step: dict[str, Any] = {"op": op}
            try:
                session, id = _run(session, op, arguments)
            except SessionError:
                step["error"], id = True, None
            ids.append(id)
            steps.append(step | {"leafId": session.leaf_id, "linesOnDisk": _line_count(session)})
        actual: dict[str, Any] = {
            "steps": steps,
            "sessionFile": session.path,
            "header": keeping().header(to_plain(session.header)),
            "entries": [loads(line) for line in session.lines(session.heads)],
            "leafId": session.leaf_id,
            "name": session.name,
            "roots": plain_tree(session.tree()),
        }
        content = keeping().content(session)
        if content is not None:
            lines = [loads(line) for line in content.split(b"\n") if line]
            actual["fileMatchesMemory"] = lines == [to_plain(session.header), *actual["entries"]]
            actual["fileEndsWithNewline"] = content.endswith(b"\n")
            _check_copy(session, content, folder)
        if keeping().nameless:
            del expected["sessionFile"]
        actual = {key: actual[key] for key in expected if key in actual}
        Matcher(DIR=folder, PROCESS_CWD=os.getcwd()).match(actual, expected)
        session.close()


def _check_copy(session: Session, content: bytes, folder: str) -> None:
    """What is stored is a session file that says the same."""
    path = os.path.join(folder, "copy.jsonl")
    Path(path).write_bytes(content)
    with Session.open(path) as copy:
        assert copy.lines(copy.heads) == session.lines(session.heads)
        assert (copy.name, copy.labels) == (session.name, session.labels)
        context, expected = copy.build_context(session.leaf_id), session.build_context()
        assert [entry.id for entry in context.entries] == [entry.id for entry in expected.entries]
        assert (context.model, context.thinking_level) == (expected.model, expected.thinking_level)
    assert Path(path).read_bytes() == content


def written_line(vector: dict[str, Any]) -> None:
    message = expand(vector["input"]["message"])
    with tempfile.TemporaryDirectory() as folder:
        session = keeping().create("/home/dev/proj", folder)
        session.append_message(OpaqueMessage(message))
        session.begin()
        line = (keeping().content(session) or b"").split(b"\n")[-2].decode()
        session.close()
    assert json.loads(line)["message"] == json.loads(vector["expected"]["messageJson"])
    written = line[line.index('"message":') + len('"message":') : -1]
    assert written == vector["expected"]["messageJson"], f"{written!r}"


def file_name(vector: dict[str, Any]) -> None:
    if keeping().nameless:
        raise Skip(keeping().nameless)
    given = vector["input"]
    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(given.get("cwd", "/home/dev/proj"), folder, given.get("id"))
        name = os.path.basename(session.path or "")
        time = re.sub(r"[:.]", "-", session.header.timestamp or "")
        assert name == f"{time}_{session.id}.jsonl"
    names = [value for value in vector["expected"].values() if str(value).endswith(".jsonl")]
    if not names:
        raise Skip(f"no file name among the expectations {sorted(vector['expected'])}")
    Matcher(DIR=folder).match(name, os.path.basename(names[0]))


def _run(session: Session, op: str, arguments: list[Any]) -> tuple[Session, str | None]:
    """Take one step; return the session that the next one speaks of, and the id that the step gave."""
    match op, arguments:
        case "append_message", [message]:
            return session, session.append_message(normalize_message(message, now_ms()))
        case "append_custom_message", [kind, content, display, *details]:
            return session, session.append_custom_message(kind, normalize_content(content), display, *details)
        case "append_usage", [kind, provider, model, usage, *note]:
            counted = normalize_usage(usage)
            assert counted is not None
            return session, session.append_usage(kind, provider, model, counted, *note)
        case "append_compaction" | "branch_with_summary", _ if len(arguments) > 4 + (op == "append_compaction"):
            *front, usage = arguments
            return session, getattr(session, op)(*front, normalize_usage(usage))
        case "append_context_edit", [target, replacement]:
            return session, session.append_context_edit(target, _replacement(replacement))
        case "branch", [id]:
            session.branch(id)
            return session, None
        case "reset_leaf", []:
            session.reset_leaf()
            return session, None
        case "create_branched_session", [leaf]:
            return branched_session(session, leaf), None
        case _:
            return session, getattr(session, op)(*arguments)


def _replacement(value: Any) -> Replacement | None:
    if value is None:
        return None
    content = value["content"]
    return Replacement(normalize_blocks(content) if isinstance(content, list) else content)


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\$\d+", value) is not None


def _line_count(session: Session) -> int | None:
    text = keeping().content(session)
    return None if text is None else sum(1 for line in text.split(b"\n") if line.strip())


OPS = {"script": script, "written_line": written_line, "file_name": file_name}
