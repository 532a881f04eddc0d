"""A session as a page: everything is in it, nothing in it runs, nothing outside of it is asked for."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from piolet.app.export.html import export_html
from piolet.app.secrets import Secrets
from piolet.harness.session.errors import NotSaved
from piolet.harness.session.session import Session

VOID = {"meta", "img", "br", "hr", "link", "input"}
PNG = "iVBORw0KGgo="


class Page(HTMLParser):
    """Checks that elements are closed in order; collects ids, links and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href":
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


class Writer:
    """Writes the lines of a session file."""

    def __init__(self, path: Path, cwd: str = "/w") -> None:
        self.path = path
        self.lines: list[Any] = [
            {"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": cwd}
        ]

    def add(self, id: str, parent: str | None, **fields: Any) -> None:
        time = f"2025-01-01T00:00:{len(self.lines) % 60:02}.000Z"
        self.lines.append({"type": "message", "id": id, "parentId": parent, "timestamp": time, **fields})

    def user(self, id: str, parent: str | None, text: str) -> None:
        self.add(id, parent, message={"role": "user", "content": [{"type": "text", "text": text}]})

    def answer(self, id: str, parent: str | None, *blocks: Any, **fields: Any) -> None:
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {"role": "assistant", "content": content, "provider": "p", "model": "m", "stopReason": "stop"}
        self.add(id, parent, message=message | fields)

    def page(self, **secrets: str) -> tuple[str, Page]:
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        with Session.open(str(self.path), read_only=True) as session:
            target = export_html(session, Secrets(secrets.values()), str(self.path.parent), "page.html")
        text = (self.path.parent / target).read_text()
        return text, Page(text)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "s.jsonl")


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def result(call_id: str, name: str, text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": content,
        "isError": False,
    } | fields


def test_every_branch_is_there_and_every_fork_leads_to_one(writer: Writer) -> None:
    writer.user("a", None, "the question")
    writer.answer("b", "a", "first answer")
    writer.user("c", "b", "left behind")
    writer.answer("d", "c", "also left behind")
    writer.user("e", "b", "went on")
    writer.answer("f", "e", "last answer")
    writer.answer("g", "a", "another answer")
    writer.lines.append(
        {
            "type": "label",
            "id": "h",
            "parentId": "f",
            "timestamp": "2025-01-01T00:01:00.000Z",
            "targetId": "c",
            "label": "x",
        }
    )
    text, page = writer.page()
    for words in ("the question", "first answer", "left behind", "also left behind", "went on", "last answer"):
        assert words in page.text
    active, *others = re.split(r'<section id="branch-\d+">', text)[1:]
    assert [id for id in "abcdefgh" if f'id="entry-{id}"' in active] == ["a", "b", "e", "f", "h"]
    assert len(others) == 2
    anchors = [link for link in page.links if link.startswith("#")]
    assert len(anchors) >= 10
    assert all(link[1:] in page.ids for link in anchors)
    assert len(set(page.ids)) == len(page.ids)


def test_a_call_shows_its_result_and_a_result_without_call_itself(writer: Writer) -> None:
    writer.user("a", None, "go")
    edit = call("1", "edit", path="/w/x.py", edits=[])
    writer.answer("b", "a", edit, call("2", "bash", command="ls <dir>"), call("3", "mystery", deep={"x": [1]}))
    diff = {"diff": "-1 old\n+1 new", "firstChangedLine": 1}
    writer.add("c", "b", message=result("1", "edit", "Edited.", details=diff))
    writer.add("d", "c", message=result("2", "bash", "no such <file>", isError=True))
    picture = result("3", "mystery", "seen", content=[{"type": "image", "data": PNG, "mimeType": "image/png"}])
    writer.add("e", "d", message=picture)
    writer.add("f", "e", message=result("lost", "read", "nobody called"))
    text, page = writer.page()
    assert [id for id in "abcdef" if f'id="entry-{id}"' in text] == ["a", "b", "f"]
    assert '<span class="fg-toolDiffAdded">' in text
    assert 'class="call failed"' in text
    assert f'src="data:image/png;base64,{PNG}"' in text
    for words in ("$ ls <dir>", "no such <file>", "mystery", "nobody called", "x.py"):
        assert words in page.text


def test_a_chain_of_thousands_and_thousands_of_branches_are_no_matter(writer: Writer) -> None:
    parent = None
    for number in range(3000):
        writer.user(f"m{number}", parent, f"message {number}")
        parent = f"m{number}"
    for number in range(1000):
        writer.user(f"x{number}", f"m{number}", f"aside {number}")
    _, page = writer.page()
    assert page.text.count("aside ") == 1000
    assert len([id for id in page.ids if id.startswith("branch-")]) == 1001


def test_nothing_of_the_session_is_markup_or_an_address(writer: Writer) -> None:
    evil = "<script>x()</script><img src=x onerror=y()>\x1b[31m\u202e\ud800[a](javascript:z())![b](http://spy/b.png)<//"
    writer.user("a", None, evil)
    writer.answer("b", "a", evil, {"type": "thinking", "thinking": evil}, call("1", evil, path=evil), errorMessage=evil)
    writer.add("c", "b", message=result("1", evil, evil))
    writer.add("d", "c", message={"role": "bashExecution", "command": evil, "output": evil, "exitCode": 3})
    writer.add("e", "d", message={"role": "user", "content": [{"type": "image", "data": evil, "mimeType": evil}]})
    writer.lines += [
        {"type": kind, "id": f"k{number}", "parentId": "e", "timestamp": evil, **fields}
        for number, (kind, fields) in enumerate(
            [
                ("custom", {"customType": evil, "data": evil}),
                ("custom_message", {"customType": evil, "content": evil, "display": True}),
                ("compaction", {"summary": evil, "tokensBefore": 1, "firstKeptEntryId": "a"}),
                ("branch_summary", {"summary": evil, "fromId": evil}),
                ("session_info", {"name": evil}),
                ("model_change", {"provider": evil, "modelId": evil}),
                (f"{evil}", {"anything": evil}),
            ]
        )
    ]
    text, page = writer.page()
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not [link for link in page.links if not re.match(r"#|http://spy", link)]
    assert "default-src 'none'" in text


def test_links_to_the_web_stay_links(writer: Writer) -> None:
    writer.user(
        "a", None, "[one](https://x.example/a?b=1&c=2) <https://y.example> [two](data:text/html,x) [three](/etc)"
    )
    _, page = writer.page()
    web = [link for link in page.links if not link.startswith("#")]
    assert web == ["https://x.example/a?b=1&c=2", "https://y.example"]


def test_known_secrets_are_masked_everywhere(writer: Writer) -> None:
    key = "sk-a&b<c>0123456789"
    writer.user("a", None, f"my key is {key}")
    writer.answer("b", "a", call("1", "bash", command=f"echo '{key}'"))
    writer.add("c", "b", message=result("1", "bash", key))
    _, page = writer.page(key=key)
    assert key not in page.text
    assert page.text.count("[secret]") == 3


def test_what_is_not_saved_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(NotSaved, match="in-memory"):
        export_html(Session.in_memory(str(tmp_path)), Secrets(), str(tmp_path))
    with pytest.raises(NotSaved, match="Nothing to export yet"):
        export_html(Session.create(str(tmp_path), str(tmp_path / "sessions")), Secrets(), str(tmp_path))
