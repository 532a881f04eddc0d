"""What extensions draw stands in the page: tool calls, messages and entries, in the tokens of the theme."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.replies import Call, openai
from tests.support.rpc import rpc
from tests.support.run import Place
from tests.support.server import ScriptedServer
from tests.support.showcase import SessionWriter, call

EXTENSION = '''
from piolet.ext import Box, ExtensionAPI, Text


def call(args, options, theme):
    return theme.bold(theme.fg("accent", "weather")) + " of " + args["town"]


def result(result, options, theme):
    if options.is_error:
        raise ValueError("no drawing of failures")
    lines = ["warm", theme.fg("warning", "wind")]
    return "\\n".join(lines) if options.expanded else lines[0]


def note(message, options, theme):
    return Box([Text(f"a note of {message.details['author']} at {message.timestamp}")], theme=theme)

def extension(pi: ExtensionAPI):
    @pi.tool(render_call=call, render_result=result)
    async def weather(town: str) -> str:
        """Tell the weather."""
        return f"raw weather of {town}"

    pi.register_message_renderer("note", note)
    pi.register_entry_renderer("state", lambda entry, options, theme: f"state {entry.data}")
'''


@pytest.fixture(autouse=True)
def extension(place: Place) -> None:
    (place.agent / "extensions").mkdir(parents=True)
    (place.agent / "extensions" / "weather.py").write_text(EXTENSION)


def facts_of(page: Path) -> Any:
    found = re.search(r'id="facts">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def plain(lines: Any) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def session(place: Place) -> Path:
    one = SessionWriter(cwd=str(place.cwd))
    one.answer(call("1", "weather", town="Ghent"), call("2", "weather", town="Bruges"), call("3", "bash", command="ls"))
    one.result("1", "weather", "raw")
    one.result("2", "weather", "no such town", isError=True)
    one.result("3", "bash", "raw")
    one.add(
        "custom_message",
        customType="note",
        content="raw",
        display=True,
        details={"author": "Ann"},
        timestamp="2026-01-02T03:04:05.000Z",
        id="n",
    )
    one.add("custom", customType="state", data=7, id="s")
    one.add("custom", customType="other", data=8, id="o")
    return one.write(place.cwd / "one.jsonl")


def test_calls_messages_and_entries_are_drawn_by_their_extensions(place: Place) -> None:
    done = place.run("--export", str(session(place)), "page.html")
    failed = f"Extension error ({place.agent / 'extensions' / 'weather.py'}): export: no drawing of failures\n"
    assert (done.exit, done.stderr) == (0, failed)
    drawn = facts_of(place.cwd / "page.html")["drawn"]
    assert sorted(drawn) == ["1", "2", "n", "s"]
    assert drawn["1"]["call"] == [[["weather", {"bold": True, "fg": "accent"}], [" of Ghent", {}]]]
    assert drawn["1"]["folded"] == [[["warm", {}]]]
    assert drawn["1"]["expanded"][1] == [["wind", {"fg": "warning"}]]
    assert [line.strip() for line in plain(drawn["n"]["expanded"]) if line.strip()] == [
        "a note of Ann at 1767323045000"
    ]
    assert plain(drawn["s"]["expanded"]) == ["state 7"]


def test_what_an_extension_cannot_draw_is_drawn_as_usual(place: Place) -> None:
    place.run("--export", str(session(place)), "page.html")
    drawn = facts_of(place.cwd / "page.html")["drawn"]
    assert plain(drawn["2"]["call"]) == ["weather of Bruges"]
    assert plain(drawn["2"]["expanded"]) == ["no such town"]


def test_a_running_session_exports_with_its_extensions_prompt_and_tools(place: Place) -> None:
    answers = iter([[Call("weather", {"town": "Ghent"})], ["Warm."]])
    with ScriptedServer(lambda request: openai(*next(answers))) as server:
        place.write_models(server.url)
        with rpc(place, "--model", "stub/m1") as client:
            client.prompt("weather?")
            path = place.cwd / client.data("export_html", outputPath="page.html")["path"]
    facts = facts_of(path)
    (drawn,) = facts["drawn"].values()
    assert plain(drawn["expanded"]) == ["warm", "wind"]
    assert "weather" in [tool["name"] for tool in facts["tools"]]
    assert str(place.cwd) in facts["prompt"]


def test_a_theme_of_the_user_colours_the_page(place: Place) -> None:
    from piolet.tui.theme_builtin import theme_file

    (place.agent / "themes").mkdir()
    mine = theme_file("dark") | {"name": "mine", "export": {"pageBg": "#123456"}}
    (place.agent / "themes" / "mine.json").write_text(json.dumps(mine))
    place.write_settings({"theme": "light/mine"})
    place.run("--export", str(session(place)), "page.html")
    page = (place.cwd / "page.html").read_text()
    assert "--pageBg:#123456;" in page
    assert "--pageBg:#f6f7f9;" in page
