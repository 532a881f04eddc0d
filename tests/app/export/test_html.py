"""The file of a page: everything of the session is in it as data that ends no element and that nothing may run."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from piolet.app.export.html import export_html
from piolet.app.export.styles import theme_style
from piolet.app.export.surroundings import Surroundings
from piolet.app.secrets import Secrets
from piolet.harness.session.errors import NotSaved, SessionError
from piolet.harness.session.session import Session
from piolet.llm.model import ToolSpec
from piolet.tui.theme import parse_theme
from piolet.tui.theme_builtin import built_in_theme, theme_file
from tests.support.showcase import SessionWriter, call, showcase

EVIL = "<script>x()</script><img src=x onerror=y()>\x1b[31m\u202e<!--</SCRIPT >]]>"


class Page:
    """The parts of a page."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = re.fullmatch(
            r'(.*)<style>(.*)</style>(.*)<script type="application/json" id="facts">(.*)</script>\n'
            r'<script type="application/json" id="session">(.*)</script>\n<script>(.*)</script>(.*)',
            text,
            re.DOTALL,
        )
        assert found is not None
        self.head, self.style, _, self._facts, self._session, self.script, _ = found.groups()

    @property
    def facts(self) -> dict[str, Any]:
        return dict(json.loads(self._facts))

    @property
    def lines(self) -> list[Any]:
        return list(json.loads(self._session))

    @property
    def data(self) -> str:
        return self._facts + self._session


def page(session: SessionWriter, folder: Path, *secrets: str, around: Surroundings | None = None) -> Page:
    path = session.write(folder / "s.jsonl")
    with Session.open(str(path), read_only=True) as opened:
        written = export_html(opened, Secrets(secrets), str(folder), "page.html", around)
    return Page((folder / written).read_text())


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def test_every_entry_of_every_branch_is_there_as_it_is_stored(tmp_path: Path) -> None:
    session = showcase()
    shown = page(session, tmp_path)
    assert shown.lines[1:] == session.lines[1:]
    assert shown.lines[0]["id"] == "0195-tram"
    nodes = shown.facts["nodes"]
    assert [node["id"] for node in nodes] == [line["id"] for line in session.lines[1:]]
    assert [node.get("parent") for node in nodes] == [line["parentId"] for line in session.lines[1:]]
    assert shown.facts["leaf"] == "end"


def test_each_entry_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    session = SessionWriter()
    session.user("one\ntwo\r\nthree\u2028four")
    shown = page(session, tmp_path)
    rows = re.search(r'id="session">\[\n(.*?)\n\]</script>', shown.text, re.DOTALL)
    assert rows is not None
    assert len(rows[1].split("\n")) == 2


def test_nodes_know_calls_results_and_usage(tmp_path: Path) -> None:
    nodes = {node["id"]: node for node in page(showcase(), tmp_path).facts["nodes"]}
    assert nodes["look"]["calls"] == ["c1", "c2"]
    assert [node["call"] for node in nodes.values() if "call" in node] == ["c1", "c2", "c3", "c4", "c5"]
    assert nodes["look"]["usage"] == [3200, 240, 0, 0, pytest.approx(0.0132)]
    assert nodes["ask"]["label"] == "the question"
    assert "usage" not in nodes["ask"]


def test_only_the_script_and_the_style_of_the_page_are_allowed(tmp_path: Path) -> None:
    shown = page(showcase(), tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', shown.head)
    assert policy is not None
    assert policy[1] == (
        f"default-src 'none'; script-src {hash_of(shown.script)}; require-trusted-types-for 'script'; "
        f"style-src {hash_of(shown.style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert len(re.findall("(?i)<script", shown.text)) == 3
    assert shown.head.index("Content-Security-Policy") < shown.head.index("<title>")


def test_the_scripts_never_write_markup(tmp_path: Path) -> None:
    script = page(showcase(), tmp_path).script
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert sink not in script


def test_nothing_of_the_session_is_markup(tmp_path: Path) -> None:
    session = SessionWriter(cwd=EVIL)
    session.add("session_info", name=EVIL)
    session.user(EVIL)
    session.answer(EVIL, {"type": "thinking", "thinking": EVIL}, call(EVIL, EVIL, path=EVIL), errorMessage=EVIL)
    session.result(EVIL, EVIL, EVIL)
    session.add(EVIL, anything=EVIL)
    around = Surroundings(prompt=EVIL, tools=[ToolSpec(EVIL, EVIL, {"type": "object", EVIL: EVIL})])
    shown = page(session, tmp_path, around=around)
    assert "<" not in shown.data
    assert len(re.findall("(?i)<script", shown.text)) == 3
    assert "<img" not in shown.text
    title = re.search(r"<title>(.*?)</title>", shown.text, re.DOTALL)
    assert title is not None
    assert title[1].startswith("&lt;script&gt;x()")
    assert "\x1b" not in title[1]
    assert shown.facts["prompt"] == EVIL


def test_known_secrets_are_masked_everywhere_and_the_data_stays_json(tmp_path: Path) -> None:
    key = 'sk-a&b<c>"0123\\nx'
    session = SessionWriter(cwd=f"/w/{key}")
    session.user(f"my key is {key}")
    session.answer(call("1", "bash", command=f"echo '{key}'"))
    session.result("1", "bash", f"\\{key}", details={key: [key]})
    shown = page(session, tmp_path, key, "12345678", around=Surroundings(prompt=key))
    texts = json.dumps([shown.facts, shown.lines])
    assert json.dumps(key)[1:-1] not in texts
    assert shown.lines[1]["message"]["content"] == "my key is [secret]"
    assert shown.lines[3]["message"]["details"] == {"[secret]": ["[secret]"]}


def test_a_number_that_looks_like_a_secret_leaves_the_data_readable(tmp_path: Path) -> None:
    session = SessionWriter()
    session.user("number 1234567890 in a text")
    session.lines[-1]["message"]["timestamp"] = 1234567890
    shown = page(session, tmp_path, "1234567890")
    assert shown.lines[1]["message"] == {
        "role": "user",
        "content": "number [secret] in a text",
        "timestamp": 1234567890,
    }


def test_a_chain_of_thousands_and_thousands_of_branches_are_no_matter(tmp_path: Path) -> None:
    session = SessionWriter()
    trunk = [session.user(f"message {number}", id=f"m{number}") for number in range(3000)]
    for number, id in enumerate(trunk[:1000]):
        session.user(f"aside {number}", id=f"x{number}", on=id)
    assert len(page(session, tmp_path).facts["nodes"]) == 4000


def test_a_page_is_named_after_its_session_or_the_first_question(tmp_path: Path) -> None:
    session = SessionWriter()
    assert page(session, tmp_path).facts["title"] == "Session 0195-tram"
    session.user([{"type": "image", "data": "", "mimeType": "image/png"}])
    session.user("Why does\nthe board " + "skip " * 20)
    title = page(session, tmp_path).facts["title"]
    assert title == ("Why does the board " + "skip " * 20)[:80].rstrip() + "…"
    session.add("session_info", name="The board")
    assert page(session, tmp_path).facts["title"] == "The board"


def test_prompt_and_tools_of_the_running_session_are_in_its_page(tmp_path: Path) -> None:
    tool = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
    facts = page(showcase(), tmp_path, around=Surroundings(prompt="Be brief.", tools=[tool])).facts
    assert facts["prompt"] == "Be brief."
    assert facts["tools"] == [{"name": "look", "description": "Looks.", "parameters": tool.parameters}]


def test_a_theme_without_colours_for_pages_gets_them_from_the_messages_of_the_user() -> None:
    file = theme_file("dark") | {"name": "mine", "export": {"cardBg": "#010203"}}
    file["colors"] = file["colors"] | {"userMessageBg": "#646464"}
    style = theme_style(built_in_theme("light"), parse_theme(file))
    dark = style.partition("prefers-color-scheme")[2]
    assert "--pageBg:#464646;" in dark
    assert "--cardBg:#010203;" in dark
    assert "--infoBg:#646464;" in dark


def test_what_is_not_saved_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(NotSaved, match="in-memory"):
        export_html(Session.in_memory(str(tmp_path)), Secrets(), str(tmp_path))
    with pytest.raises(NotSaved, match="Nothing to export yet"):
        export_html(Session.create(str(tmp_path), str(tmp_path / "sessions")), Secrets(), str(tmp_path))


def test_the_session_itself_is_never_the_page(tmp_path: Path) -> None:
    path = showcase().write(tmp_path / "s.jsonl")
    (tmp_path / "page.html").symlink_to(path)
    before = path.read_bytes()
    with Session.open(str(path), read_only=True) as opened:
        for target in ("s.jsonl", "page.html"):
            with pytest.raises(SessionError, match="the session itself"):
                export_html(opened, Secrets(), str(tmp_path), target)
    assert path.read_bytes() == before
