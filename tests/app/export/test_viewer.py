"""The page of a session in a real browser: everything that a reader does with it, and that it does nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from piolet.app.export.html import export_html
from piolet.app.export.surroundings import Surroundings
from piolet.app.renderers.tree_rows import tree_nodes
from piolet.app.secrets import Secrets
from piolet.harness.session.session import Session
from piolet.llm.model import ToolSpec
from piolet.tui.tree_layout import FILTERS, lay_out, shown
from tests.support.browser import CHROMIUM, Browser, Tab
from tests.support.run import ROOT
from tests.support.showcase import SessionWriter, call, image, showcase

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt install chromium)")

Opener = Callable[..., Tab]

AROUND = Surroundings(
    prompt="\n".join(f"Rule {number}." for number in range(1, 31)),
    tools=[ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})],
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens the page of a session in a tab. At the end no tab may have anything to complain about."""
    tabs: list[Tab] = []

    def open_page(session: SessionWriter, query: str = "", around: Surroundings = AROUND, **size: int) -> Tab:
        path = session.write(tmp_path / "s.jsonl")
        with Session.open(str(path), read_only=True) as opened:
            export_html(opened, Secrets(), str(tmp_path), "page.html", around)
        tab = browser.open(tmp_path / "page.html", query, **size)
        tabs.append(tab)
        tab.until("document.querySelector('article:not(.waiting)') !== null")
        return tab

    yield open_page
    for tab in tabs:
        assert tab.complaints() == []
        tab.close()


def rows(tab: Tab) -> list[str]:
    return list(tab.run("[...document.querySelectorAll('#tree .row')].map(row => row.dataset.id)"))


def shown_ids(tab: Tab) -> list[str]:
    return list(tab.run("[...document.querySelectorAll('#transcript article')].map(one => one.dataset.id)"))


def text(tab: Tab, selector: str) -> str:
    return str(tab.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))


def article(tab: Tab, id: str) -> str:
    """Return the selector of an article once it is drawn."""
    tab.run(f"document.querySelector('article[data-id=\"{id}\"]').scrollIntoView()")
    tab.until(f"!document.querySelector('article[data-id=\"{id}\"]').classList.contains('waiting')")
    return f'article[data-id="{id}"]'


# -------------------------------------------------------------------------------------------------------------- reading


def test_the_branch_of_the_leaf_is_shown_with_what_its_tools_gave(open_page: Opener) -> None:
    tab = open_page(showcase())
    ids = shown_ids(tab)
    assert ids[-1] == "end"
    assert "aside" not in ids
    assert "whisper" not in ids
    look = text(tab, article(tab, "look"))
    for words in (
        "I run the tests first",
        "$ pytest -q (timeout 60s)",
        "earlier lines",
        "Took 1.8s",
        "read board.py:1-10",
    ):
        assert words in look
    assert "departures(stop, now)" not in look  # folded


def test_markdown_becomes_elements(open_page: Opener) -> None:
    tab = open_page(showcase())
    done = article(tab, "done")
    for selector in (
        "strong",
        "h4",
        "ol > li > ul > li",
        "pre.code .fg-syntaxKeyword",
        "td.right",
        "blockquote a[href]",
    ):
        assert tab.run(f"document.querySelector({json.dumps(f'{done} {selector}')}) !== null"), selector
    assert tab.run(f"document.querySelector({json.dumps(f'{done} blockquote a')}).href") == "https://docs.example/board"


MARKDOWN = [
    ("a *b* **c** ~~d~~ `e*f*`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e*f*</code></p>"),
    ("snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"),
    ("**bold *both* end**", "<p><strong>bold <em>both</em> end</strong></p>"),
    ("- a\n- b\n\n  more\n- [x] c", "<ul><li>a</li><li>bmore</li><li>☑ c</li></ul>"),
    ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
    ("```py\n<b>\n", '<pre class="code">&lt;b&gt;\n</pre>'),
    ("Title\n===\ntext\n***", "<h3>Title</h3><p>text</p><hr>"),
    ("> a\nb\n\nc", "<blockquote><p>a\nb</p></blockquote><p>c</p>"),
    (
        "|a|b|\n|-|:-:|\n|1|2\\|3|",
        '<div class="table"><table><thead><tr><th>a</th><th class="center">b</th></tr></thead>'
        '<tbody><tr><td>1</td><td class="center">2|3</td></tr></tbody></table></div>',
    ),
    ("`` a`b `` and \\*c\\*", "<p><code>a`b</code> and *c*</p>"),
    ("*open and [half](", "<p>*open and [half](</p>"),
]


def test_markdown_is_read_as_people_write_it(open_page: Opener) -> None:
    session = SessionWriter()
    for source, _ in MARKDOWN:
        session.answer(source)
    tab = open_page(session)
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.run("[...document.querySelectorAll('.prose')].map(one => one.innerHTML)") == [
        html for _, html in MARKDOWN
    ]


def test_code_and_diffs_are_coloured(open_page: Opener) -> None:
    tab = open_page(showcase())
    home = tab.run("document.querySelector('.diff').closest('article').dataset.id")
    article(tab, home)
    assert tab.run("[...document.querySelectorAll('.diff .removed')].length") == 2
    assert tab.run("[...document.querySelectorAll('.diff mark')].map(one => one.innerText)") == ["5", "8"]
    colors = tab.run(
        "['.added', '.removed', '.kept'].map(one => getComputedStyle(document.querySelector('.diff ' + one)).color)"
    )
    assert len(set(colors)) == 3


def test_pictures_are_shown_and_enlarged(open_page: Opener) -> None:
    tab = open_page(showcase())
    photo = article(tab, "photo")
    tab.until(f"document.querySelector({json.dumps(photo + ' img')}).naturalWidth === 320")
    tab.click(f"{photo} .picture")
    tab.until("document.querySelector('dialog.enlarged[open]') !== null")
    tab.press("Escape")
    tab.until("document.querySelector('dialog') === null")


def test_summaries_commands_and_messages_of_extensions_are_told_apart(open_page: Opener) -> None:
    tab = open_page(showcase())
    assert "Compacted from 48,210 tokens" in text(tab, article(tab, "compact"))
    assert tab.run("document.querySelector('article.branch_summary details').open") is False
    kinds = set(
        tab.run("[...document.querySelectorAll('#transcript article')].map(one => one.className.split(' ')[0])")
    )
    article(tab, "end")
    tab.until("document.querySelector('article.bash .failure').innerText === '(exit 1)'")
    assert tab.run("document.querySelector('article.custom_message em').innerText") == "Friday"
    assert kinds


def test_header_tells_sums_prompt_and_tools(open_page: Opener) -> None:
    tab = open_page(showcase())
    header = text(tab, "header")
    for words in (
        "0195-tram",
        "/home/mira/tram-board",
        "anthropic/claude-sonnet-5",
        "Tool calls\n5",
        "$0.0455",
        "tool results 5",
        "Rule 10.",
    ):
        assert words in header
    assert "Rule 11." not in header
    tab.click("header details.prompt > summary")
    tab.until("document.querySelector('header').innerText.includes('Rule 30.')")
    tab.click("header details.available > summary")
    tab.until("document.querySelector('header').innerText.includes('Reads a file.')")


def test_usage_of_each_answer_is_a_bar_that_leads_there(open_page: Opener) -> None:
    tab = open_page(showcase())
    assert tab.run("document.querySelectorAll('#usage svg:first-of-type')[0].querySelectorAll('g').length") == 5
    assert "3.2k in (0 cached), 240 out, $0.0132" in tab.run("document.querySelector('#usage g title').textContent")
    tab.click("#usage .bars:nth-child(2) g:nth-child(3)")
    tab.until("document.querySelector('article.current')?.dataset.id === 'done'")


# -------------------------------------------------------------------------------------------------------------- folding


def test_a_tool_call_unfolds_and_folds(open_page: Opener) -> None:
    tab = open_page(showcase())
    look = article(tab, "look")
    first = f"{look} details.call"
    assert "test_rule_01" not in text(tab, look)
    tab.click(f"{first} > summary")
    tab.until(f"document.querySelector({json.dumps(look)}).innerText.includes('test_rule_01 PASSED')")
    assert "earlier lines" not in text(tab, first)
    tab.click(f"{first} > summary")
    tab.until(f"!document.querySelector({json.dumps(first)}).open")
    assert "test_rule_01" not in text(tab, look)


def test_keys_unfold_tools_and_thinking_and_show_what_is_hidden(open_page: Opener) -> None:
    tab = open_page(showcase())
    look = article(tab, "look")
    assert "comparison may be strict" not in text(tab, look)
    tab.press("t")
    tab.press("o")
    look = article(tab, "look")
    assert "comparison may be strict" in text(tab, look)
    assert "test_rule_01 PASSED" in text(tab, look)
    assert tab.run("document.querySelector('[data-toggle=tools]').getAttribute('aria-pressed')") == "true"
    before = len(shown_ids(tab))
    tab.press("h")
    assert len(shown_ids(tab)) == before + 4  # a label, a name, a state, a hidden message
    tab.press("h")
    tab.press("o")
    assert "test_rule_01 PASSED" not in text(tab, article(tab, "look"))
    assert len(shown_ids(tab)) == before


# ------------------------------------------------------------------------------------------------------------- the tree


def zigzag() -> SessionWriter:
    """A session of many short branches, labels and tools, drawn by lot."""
    lot = random.Random(7)
    session = SessionWriter()
    ids: list[str | None] = [None]
    for number in range(60):
        on = lot.choice(ids[-6:]) if number else None
        match lot.randrange(5):
            case 0:
                ids.append(session.answer(call(f"k{number}", "ls", path="."), on=on))
            case 1:
                ids.append(session.add("model_change", provider="p", modelId=f"m{number}", on=on))
            case 2:
                ids.append(session.answer(f"answer {number}", on=on))
            case _:
                ids.append(session.user(f"question {number}", on=on))
    session.add("label", targetId=ids[5], label="here")
    return session


@pytest.mark.parametrize("filter", FILTERS)
def test_the_tree_has_the_rows_of_the_terminal(open_page: Opener, tmp_path: Path, filter: Any) -> None:
    session = zigzag()
    tab = open_page(session, height=3000)
    if filter != "default":
        tab.click(f"[data-filter={filter}]")
    with Session.open(str(tmp_path / "s.jsonl"), read_only=True) as opened:
        nodes, leaf = tree_nodes(opened), opened.leaf_id
    expected = lay_out(nodes, leaf, lambda node: shown(node, filter, leaf))
    tab.until(f"document.getElementById('status').innerText === '{len(expected)} / {len(nodes)} entries'")
    assert rows(tab) == [row.node.id for row in expected]
    levels = tab.run("[...document.querySelectorAll('#tree .row')].map(row => Number(row.ariaLevel) - 1)")
    assert levels == [row.level for row in expected]
    active = tab.run("[...document.querySelectorAll('#tree .row')].map(row => row.querySelector('i') !== null)")
    assert active == [row.active for row in expected]


def test_search_finds_what_is_said_anywhere_and_escape_ends_it(open_page: Opener) -> None:
    tab = open_page(showcase())
    everything = rows(tab)
    tab.press("/")
    tab.write("photo BOARD")
    tab.until("document.querySelectorAll('#tree .row').length === 1")
    assert rows(tab) == ["photo"]
    tab.run("document.getElementById('search').select()")
    tab.write("test_rule_17")  # in the output of a tool
    tab.until("document.querySelector('#tree .row.tool') !== null")
    assert text(tab, "#tree .row.tool") == "• [bash: pytest -q]"
    tab.press("Escape")
    tab.until(f"document.querySelectorAll('#tree .row').length === {len(everything)}")
    assert tab.run("document.getElementById('search').value") == ""


def test_a_row_of_another_branch_shows_that_branch(open_page: Opener) -> None:
    tab = open_page(showcase())
    tab.click('#tree .row[data-id="aside"]')
    tab.until("document.querySelector('article.current')?.dataset.id === 'aside'")
    ids = shown_ids(tab)
    assert ids[-2:] == ["aside", "aside-answer"]
    assert "done" not in ids
    tab.click("[data-branch]")
    tab.until("[...document.querySelectorAll('#transcript article')].at(-1).dataset.id === 'end'")


def test_a_row_leads_through_it_to_the_newest_entry(open_page: Opener) -> None:
    session = SessionWriter()
    root = session.user("root", id="root")
    session.user("older child, newer leaf", on=root, id="one")
    session.user("newer child", on=root, id="two")
    session.user("newest of all", on="one", id="last")
    tab = open_page(session, "?leafId=two")
    assert shown_ids(tab) == ["root", "two"]
    tab.click('#tree .row[data-id="root"]')
    tab.until("document.querySelector('article.current')?.dataset.id === 'root'")
    assert shown_ids(tab) == ["root", "one", "last"]


def test_a_skill_is_folded_into_its_name(open_page: Opener) -> None:
    session = SessionWriter()
    session.user('<skill name="knots" location="/k/SKILL.md">\nTie *them*.\n</skill>\n\nA bowline, please.', id="a")
    tab = open_page(session)
    assert text(tab, "article .summary > summary") == "[skill] knots"
    assert text(tab, "article > .prose") == "A bowline, please."
    tab.click("article .summary > summary")
    tab.run("document.querySelector('article details').open = true")
    tab.until("document.querySelector('article details em')?.innerText === 'them'")


def test_the_edge_of_the_tree_is_dragged(open_page: Opener) -> None:
    tab = open_page(showcase())
    for kind, x in (("mousePressed", 303), ("mouseMoved", 350), ("mouseMoved", 420), ("mouseReleased", 420)):
        tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=500, button="left", buttons=1, clickCount=1)
    tab.until("document.getElementById('sidebar').getBoundingClientRect().width === 420")


def test_a_branch_folds_in_the_tree(open_page: Opener) -> None:
    tab = open_page(showcase())
    count = len(rows(tab))
    tab.click('#tree .row[data-id="aside"] .fold')
    tab.until(f"document.querySelectorAll('#tree .row').length === {count - 1}")
    assert "aside-answer" not in rows(tab)
    assert shown_ids(tab)[-1] == "end"
    tab.click('#tree .row[data-id="aside"] .fold')
    tab.until(f"document.querySelectorAll('#tree .row').length === {count}")


def test_the_tree_is_walked_by_keys(open_page: Opener) -> None:
    tab = open_page(showcase())
    tab.run("document.getElementById('tree').focus()")
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown"):
        tab.press(key)
    chosen = tab.run("document.querySelector('#tree .cursor').dataset.id")
    tab.press("Enter")
    tab.until(f"document.querySelector('article.current')?.dataset.id === {json.dumps(chosen)}")


# ---------------------------------------------------------------------------------------------------------------- links


def test_an_address_opens_a_branch_at_an_entry(open_page: Opener) -> None:
    tab = open_page(showcase(), "?leafId=aside-answer&targetId=look")
    assert shown_ids(tab)[-1] == "aside-answer"
    tab.until("document.querySelector('article.current')?.dataset.id === 'look'")
    tab.until("Math.abs(document.querySelector('article.current').getBoundingClientRect().top) < 120")


def test_an_address_of_a_result_leads_to_its_call(open_page: Opener) -> None:
    session = showcase()
    result = next(line["id"] for line in session.lines if line.get("message", {}).get("toolCallId") == "c2")
    tab = open_page(session, f"?targetId={result}")
    tab.until("document.querySelector('article.current')?.dataset.id === 'look'")


def test_an_address_that_leads_nowhere_opens_the_page_as_it_is(open_page: Opener) -> None:
    assert shown_ids(open_page(showcase(), "?leafId=nope&targetId=nope"))[-1] == "end"


def test_the_link_of_an_entry_is_an_address_that_opens_it(open_page: Opener, browser: Browser, tmp_path: Path) -> None:
    tab = open_page(showcase())
    tab.click('#tree .row[data-id="aside"]')
    tab.click(f"{article(tab, 'look')} .link")
    tab.until("location.search.length > 0")
    address = tab.run("location.search")
    assert address == "?leafId=aside-answer&targetId=look"
    again = browser.open(tmp_path / "page.html", address)
    again.until("document.querySelector('article.current')?.dataset.id === 'look'")
    assert shown_ids(again)[-1] == "aside-answer"
    again.close()


def test_a_page_around_it_may_say_what_to_show(open_page: Opener, browser: Browser, tmp_path: Path) -> None:
    open_page(showcase())
    page = (tmp_path / "page.html").read_text()
    meta = '<meta name="pi-url-params" content="leafId=aside-answer&amp;targetId=aside">'
    (tmp_path / "around.html").write_text(page.replace("<title>", meta + "<title>"))
    tab = browser.open(tmp_path / "around.html", "?targetId=photo")
    tab.until("document.querySelector('article.current')?.dataset.id === 'aside'")
    assert shown_ids(tab)[-1] == "aside-answer"
    tab.close()


# ------------------------------------------------------------------------------------------------- keys, themes, size


def background(tab: Tab) -> str:
    return str(tab.run("getComputedStyle(document.body).backgroundColor"))


def test_the_theme_follows_the_system_and_the_key_overrules_it(open_page: Opener) -> None:
    tab = open_page(showcase())
    tab.prefer(prefers_color_scheme="light")
    light = background(tab)
    tab.prefer(prefers_color_scheme="dark")
    dark = background(tab)
    assert (light, dark) == ("rgb(246, 247, 249)", "rgb(22, 25, 29)")
    tab.press("d")
    tab.press("d")
    assert background(tab) == light
    tab.press("d")
    assert background(tab) == dark


def test_keys_step_through_the_entries_and_are_listed(open_page: Opener) -> None:
    tab = open_page(showcase(), "?targetId=look")
    ids = shown_ids(tab)
    tab.press("j")
    tab.until(f"document.querySelector('article.current').dataset.id === {json.dumps(ids[ids.index('look') + 1])}")
    tab.press("k")
    tab.press("k")
    tab.until("document.querySelector('article.current').dataset.id === 'ask'")
    tab.press("?")
    tab.until("document.querySelector('#help[open]') !== null")
    assert "Next entry" in text(tab, "#help")
    tab.press("Escape")
    tab.until("document.querySelector('#help') === null")


def test_letters_in_the_search_are_no_keys(open_page: Opener) -> None:
    tab = open_page(showcase())
    tab.press("/")
    for letter in "tohd":
        tab.press(letter)
    assert tab.run("document.getElementById('search').value") == "tohd"
    assert tab.run("[...document.querySelectorAll('[data-toggle]')].every(one => one.ariaPressed === 'false')")


def test_on_a_phone_the_tree_comes_on_demand_and_nothing_is_too_wide(open_page: Opener) -> None:
    session = showcase()
    session.user("wide" * 200, on="written", id="wide")
    session.answer(
        "`" + "wide" * 200 + "`\n\n|a|b|\n|-|-|\n|" + "wide " * 9 + "|" + "w" * 90 + "|", on="wide", id="end2"
    )
    tab = open_page(session, width=390, height=844)
    look = "getComputedStyle(document.getElementById('sidebar')).visibility"
    assert tab.run(look) == "hidden"
    for id in shown_ids(tab):
        article(tab, id)
    assert tab.run("document.documentElement.scrollWidth") == 390
    tab.click("#menu")
    tab.until(f"{look} === 'visible'")
    tab.click('#tree .row[data-id="aside"]')
    tab.until("document.querySelector('article.current')?.dataset.id === 'aside'")
    assert tab.run(look) == "hidden"


def test_on_paper_every_entry_is_there_and_the_tree_is_not(open_page: Opener) -> None:
    session = showcase()
    for number in range(200):
        session.user(f"more {number}")
    tab = open_page(session)
    tab.prefer(prefers_color_scheme="dark")
    assert tab.run("document.querySelectorAll('.waiting').length") > 0
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    tab.prefer(media="print")
    assert tab.run("document.querySelectorAll('.waiting').length") == 0
    assert tab.run("getComputedStyle(document.getElementById('sidebar')).display") == "none"
    assert tab.run("getComputedStyle(document.body).color") == "rgb(31, 38, 46)"  # ink of the light theme


def test_the_session_file_comes_out_of_the_page(open_page: Opener, browser: Browser, tmp_path: Path) -> None:
    tab = open_page(showcase())
    tab.click("#download")
    while browser.wait_for("Browser.downloadProgress")["params"]["state"] != "completed":
        pass
    saved = (browser.downloads / "s.jsonl").read_text()
    assert [json.loads(line) for line in saved.splitlines()][1:] == [
        json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()
    ][1:]


# ------------------------------------------------------------------------------------------------ foreign and strange


HOSTILE = next(
    case for case in json.loads((ROOT / "tests/data/cases/security.json").read_text()) if case["id"] == "security-04"
)["setup"]["texts"]


def hostile(texts: list[str]) -> SessionWriter:
    """A session whose every text is hostile."""
    session = SessionWriter(cwd=texts[0])
    evil = "\n\n".join(texts)
    session.add("session_info", name=evil)
    for text in (
        *texts,
        evil,
        "".join(texts),
        f"```{texts[1]}\n{evil}\n```",
        f"> - {evil}",
        f"|{evil}|\n|-|\n|{evil}|",
    ):
        session.user(text)
        tools = [
            call(f"{name}{len(session.lines)}", name, path=text, content=text, command=text, pattern=text)
            for name in ("read", "write", "edit", "bash", "grep", "ls", text)
        ]
        session.answer(text, {"type": "thinking", "thinking": text}, *tools, model=text, errorMessage=text)
        for tool in tools:
            session.result(tool["id"], tool["name"], text, details={"diff": f"-1 {text}\n+1 {text}!"})
    session.result("nobody", evil, evil)
    session.user([{"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="}, {"type": evil, evil: evil}])
    session.user([{"type": "image", "mimeType": evil, "data": '"><script>alert(9)</script>'}])
    session.user(f'<skill name="{evil}" location="x">\n{evil}\n</skill>')
    for kind, fields in {
        "custom": {"customType": evil, "data": evil},
        "custom_message": {"customType": evil, "content": evil, "display": True},
        "compaction": {"summary": evil, "tokensBefore": 1, "firstKeptEntryId": "x"},
        "branch_summary": {"summary": evil, "fromId": evil},
        "model_change": {"provider": evil, "modelId": evil},
        evil: {"anything": evil},
    }.items():
        session.add(kind, **fields)
    session.add("label", targetId=session.last, label=evil)
    session.add("message", message={"role": "bashExecution", "command": evil, "output": evil, "exitCode": 1})
    return session


def test_nothing_of_a_hostile_session_runs_or_leads_anywhere(open_page: Opener) -> None:
    more = [
        "[a](\x01javascript:alert(6))",
        "<javascript:alert(7)>",
        "<svg/onload=alert(8)>",
        "\x1b]8;;javascript:alert(1)\x07x",
    ]
    session = hostile([*HOSTILE, *more])
    tab = open_page(session, around=Surroundings(prompt=HOSTILE[0], tools=[ToolSpec(HOSTILE[1], HOSTILE[0], {})]))
    for key in "toh":
        tab.press(key)
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    tab.until("document.querySelectorAll('.waiting').length === 0")
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert tab.run("document.scripts.length") == 3
    assert tab.run("document.querySelectorAll('svg, iframe, object, embed, form, base, link').length") == tab.run(
        "document.querySelectorAll('#usage svg').length"
    )
    links = tab.run("[...document.querySelectorAll('[href], [src], [action]')].map(one => one.href || one.src || '')")
    assert [link for link in links if not link.startswith(("https:", "http:", "mailto:", "data:image/"))] == []
    attributes = tab.run("[...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())")
    assert [name for name in set(attributes) if name.startswith("on")] == []
    body = tab.run("document.body.innerText")
    for words in ("alert(1)", "alert(2)", "alert(3)", "alert(5)"):
        assert words in body
    assert not set(body) & set("\x1b\x9b\u202e")


def test_a_script_that_gets_into_the_page_does_not_run(open_page: Opener) -> None:
    session = SessionWriter()
    session.user("hello")
    tab = open_page(session)
    tab.run(
        "(() => { const one = document.createElement('div'); document.body.append(one);"
        " try { one.innerHTML = '<img src=x onerror=\"window.ran = 1\">'; } catch { window.refused = true; } })()"
    )
    assert tab.run("window.refused") is True
    assert len(tab.complaints()) == 1  # of the policy
    tab.forget()


def test_entries_of_any_shape_are_shown(open_page: Opener) -> None:
    session = SessionWriter()
    session.user(None)
    session.add("message", message={"role": "assistant", "content": "a text, no list"})
    session.add(
        "message",
        message={
            "role": "assistant",
            "content": [
                None,
                3,
                {"type": "toolCall"},
                {"type": "toolCall", "id": "x", "name": "edit", "arguments": {"path": {"deep": 1}}},
            ],
            "usage": {"totalTokens": "many"},
        },
    )
    session.add("message", message={"role": "toolResult", "toolCallId": "x", "content": "text", "details": {"diff": 4}})
    session.add("compaction")
    session.add("mystery", value={"a": [1]})
    session.user("the end", id="end")
    tab = open_page(session)
    tab.press("o")
    tab.press("h")
    for id in shown_ids(tab):
        article(tab, id)
    assert "the end" in text(tab, "#transcript")


def test_hard_markdown_is_read_in_time(open_page: Opener) -> None:
    session = SessionWriter()
    for piece in (
        "*a ",
        "_a ",
        "`" * 3 + "a ",
        "[",
        "[a](",
        "**a*",
        "> ",
        "- ",
        "#" * 7 + " ",
        "| ",
        "\\",
        "~~a ",
        "<http://",
    ):
        session.user(piece * 20_000)
        session.user("\n".join([piece.strip() + "x"] * 3_000))
    session.user("> " * 5_000 + "deep")
    session.user("".join(f"{' ' * 2 * level}- {level}\n" for level in range(400)))
    session.user("# " + " " * 100_000 + "x", id="end")
    tab = open_page(session)
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    tab.until("document.querySelectorAll('.waiting').length === 0")


def test_what_extensions_draw_is_shown_folded_and_expanded(open_page: Opener) -> None:
    session = SessionWriter()
    session.answer(call("t", "todo", action="list"), id="a")
    session.result("t", "todo", "raw")
    spans = {"call": [[["todo ", {"fg": "accent", "bold": True}], ["list", {}]]], "boxed": True}
    spans |= {"folded": [[["2 open", {"fg": "#ff0000"}]]], "expanded": [[["milk", {"strike": True}]], [["bread", {}]]]}
    tab = open_page(session, around=Surroundings(drawn={"t": spans}))
    assert text(tab, ".call").split("\n") == ["todo list", "2 open"]
    color = "getComputedStyle(document.querySelector('.call .first span')).color"
    assert tab.run(color) == "rgb(255, 0, 0)"
    tab.press("o")
    tab.until("document.querySelector('.call[open]') !== null")
    assert text(tab, ".call").split("\n") == ["todo list", "milk", "bread"]
    assert "raw" not in text(tab, ".call")


def test_twenty_megabytes_are_read_searched_and_scrolled(open_page: Opener) -> None:
    session = SessionWriter()
    line = "the board shows the next eight trams of the stop\n"
    for number in range(2_000):
        session.user(f"question {number}")
        session.answer(f"answer {number}", call(f"c{number}", "bash", command="board"), tokens=(10, 10, number))
        session.result(f"c{number}", "bash", line * 200 + f"marker{number:04}")
    assert sum(len(json.dumps(entry)) for entry in session.lines) > 20_000_000
    tab = open_page(session)
    assert tab.run("document.querySelectorAll('#tree .row').length") < 100
    assert tab.run("document.querySelectorAll('article:not(.waiting)').length") < 200
    tab.press("/")
    tab.write("marker1234")
    tab.until("document.querySelectorAll('#tree .row').length === 1")
    tab.click("#tree .row")
    tab.until("document.querySelector('article.current .call') !== null")
    assert "marker1234" in text(tab, "article.current")
    tab.press("Escape")
    tab.run("window.scrollTo(0, 1e9)")
    tab.until("![...document.querySelectorAll('article')].at(-1).classList.contains('waiting')")


@pytest.mark.soak
def test_twenty_megabytes_open_in_three_seconds(open_page: Opener) -> None:
    session = SessionWriter()
    for number in range(2_000):
        session.user(f"question {number}")
        session.answer(f"answer {number}", image() if number % 50 == 0 else "", call(f"c{number}", "bash", command="x"))
        session.result(f"c{number}", "bash", "the board shows the next eight trams of the stop\n" * 200)
    tab = open_page(session)
    assert tab.run("performance.getEntriesByType('navigation')[0].loadEventEnd") < 3000


def test_hundreds_of_branches_do_not_push_the_rest_away(open_page: Opener) -> None:
    session = SessionWriter()
    root = session.user("root")
    for number in range(300):
        session.user(f"branch {number}", on=root)
    tab = open_page(session)
    fork = "document.querySelector('.fork')"
    assert tab.run(f"{fork}.querySelectorAll('button').length") == 299
    assert tab.run(f"{fork}.getBoundingClientRect().height") < 300
    assert tab.run(f"{fork}.scrollHeight > {fork}.clientHeight")
