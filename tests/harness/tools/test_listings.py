"""What grep, find and ls show (tools specification, sections 6 to 8)."""

from __future__ import annotations

import pytest

from piolet.harness.environments.memory import MemoryEnvironment
from tests.harness.tools.calling import Tools, text_of

MORE = "Use limit=4 for more"


def tools(**files: str) -> Tools:
    return Tools(MemoryEnvironment(files))


async def test_lines_and_context_have_their_forms() -> None:
    text = await tools(**{"src/a.js": "one\nneedle\nthree\n"}).text("grep", pattern="needle", context=1)
    assert text == "src/a.js-1- one\nsrc/a.js:2: needle\nsrc/a.js-3- three"


async def test_nothing_found_is_no_error() -> None:
    assert await tools(a="x").text("grep", pattern="zz") == "No matches found"
    assert await tools(a="x").text("find", pattern="zz") == "No files found matching pattern"
    environment = MemoryEnvironment()
    assert await Tools(environment).text("ls") == "(empty directory)"


@pytest.mark.parametrize("name", ["grep", "find", "ls"])
async def test_a_missing_path_is_named(name: str) -> None:
    arguments = {} if name == "ls" else {"pattern": "x"}
    assert await tools().failure(name, path="no", **arguments) == "Path not found: /work/no"


@pytest.mark.parametrize("name", ["find", "ls"])
async def test_a_file_is_no_directory(name: str) -> None:
    arguments = {} if name == "ls" else {"pattern": "x"}
    assert await tools(f="").failure(name, path="f", **arguments) == "Not a directory: /work/f"


@pytest.mark.parametrize(
    ("name", "arguments", "notice", "details"),
    [
        ("grep", {"pattern": "x"}, f"2 matches limit reached. {MORE}, or refine pattern", "matchLimitReached"),
        ("find", {"pattern": "*"}, f"2 results limit reached. {MORE}, or refine pattern", "resultLimitReached"),
        ("ls", {}, f"2 entries limit reached. {MORE}", "entryLimitReached"),
    ],
)
async def test_limits_are_told_only_if_there_is_more(
    name: str, arguments: dict[str, str], notice: str, details: str
) -> None:
    some = tools(a="x\n", b="x\n", c="x\n")
    result = await some.call(name, limit=2, **arguments)
    lines, _, bracket = text_of(result).partition("\n\n")
    assert (len(lines.split("\n")), bracket, result.details) == (2, f"[{notice}]", {details: 2})
    assert len((await some.text(name, limit=0.5, **arguments)).partition("\n\n")[0].split("\n")) == 1
    exact = await some.call(name, limit=3, **arguments)
    assert (exact.details, "limit" in text_of(exact)) == (None, False)


async def test_long_lines_are_cut_between_characters() -> None:
    result = await tools(a="k" + "a" * 498 + "\U0001f600bb\n", b="k" * 500).call("grep", pattern="k")
    first, second, _, notice = text_of(result).split("\n")
    assert first == "a:1: k" + "a" * 498 + "... [truncated]"
    assert second == "b:1: " + "k" * 500
    assert notice == "[Some lines truncated to 500 chars. Use read tool to see full lines]"
    assert result.details == {"linesTruncated": True}


async def test_all_notices_stand_in_one_bracket() -> None:
    result = await tools(a=("q" * 600 + "\n") * 300).call("grep", pattern="q", limit=200)
    assert text_of(result).endswith(
        "[200 matches limit reached. Use limit=400 for more, or refine pattern. 50.0KB limit reached. "
        "Some lines truncated to 500 chars. Use read tool to see full lines]"
    )
    assert list(result.details) == ["matchLimitReached", "linesTruncated", "truncation"]
    assert result.details["truncation"]["maxLines"] == 9007199254740991


async def test_ls_sorts_without_regard_to_case_and_marks_folders() -> None:
    environment = MemoryEnvironment({"b": "", "A/x": "", ".h": "", "c": ""})
    environment.add_link("dead", "nowhere")
    environment.add_link("link", "A")
    assert await Tools(environment).text("ls") == ".h\nA/\nb\nc\ndead\nlink/"


async def test_names_that_are_not_utf8_are_shown_with_marks() -> None:
    environment = MemoryEnvironment({"a\udcff": ""})
    assert await Tools(environment).text("find", pattern="*") == "a\ufffd"
    assert await Tools(environment).text("ls") == "a\ufffd"


async def test_what_is_wrong_with_a_pattern_is_said() -> None:
    assert "unclosed group" in await tools(a="x").failure("grep", pattern="x(")
    assert "unclosed bracket" in await tools(a="x").failure("find", pattern="[")
