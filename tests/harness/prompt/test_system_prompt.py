from __future__ import annotations

import pytest

from piolet.harness.prompt.records import ContextFile, PromptInputs, PromptTool, Skill
from piolet.harness.prompt.system_prompt import PromptError, prompt_sections, system_prompt

READ = PromptTool("read", "Read a file", ("Read a file before you change it",))
BASH = PromptTool("bash", "Run a command")
SKILL = Skill("pdf", "Work with PDF files", "/k/pdf/SKILL.md", "/k/pdf")


def test_parts_stand_in_order() -> None:
    text = system_prompt(
        PromptInputs(
            cwd="/w",
            tools=[READ, BASH],
            append=["APPENDED", "TWICE"],
            context_files=[ContextFile("/w/AGENTS.md", "RULES")],
            skills=[SKILL],
            docs_path="/docs",
        )
    )
    marks = [
        "You are piolet",
        "Available tools:\n- read: Read a file\n- bash: Run a command",
        "Guidelines:\n",
        "/docs",
        "APPENDED\n\nTWICE",
        "<project_context>",
        '<project_instructions path="/w/AGENTS.md">\nRULES\n</project_instructions>',
        "</project_context>",
        "<available_skills>",
        "\nCurrent working directory: /w\n",
    ]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.endswith(marks[-1])


def test_custom_prompt_stands_alone() -> None:
    text = system_prompt(PromptInputs(cwd="/w", tools=[READ], custom_prompt="MINE", docs_path="/docs"))
    assert text == "MINE\nCurrent working directory: /w\n"


def test_empty_custom_prompt_means_the_built_in_one() -> None:
    assert system_prompt(PromptInputs(cwd="/w", custom_prompt="")) == system_prompt(PromptInputs(cwd="/w"))


def test_no_tool_with_a_snippet_is_said() -> None:
    assert "Available tools:\n(none)\n" in system_prompt(PromptInputs(cwd="/w", tools=[PromptTool("quiet")]))


def test_a_hidden_tool_has_no_line_but_counts_for_skills() -> None:
    hidden = PromptTool("read", "Read a file", hidden=True)
    text = system_prompt(PromptInputs(cwd="/w", tools=[hidden], skills=[SKILL]))
    assert "- read:" not in text
    assert "<name>pdf</name>" in text


def test_skills_are_listed_only_with_read() -> None:
    assert "<available_skills>" not in system_prompt(PromptInputs(cwd="/w", tools=[BASH], skills=[SKILL]))
    assert "skills" in prompt_sections(PromptInputs(cwd="/w", tools=[BASH], skills=[SKILL]))


def test_guidelines_are_trimmed_and_said_once() -> None:
    other = PromptTool("edit", None, (" Read a file before you change it ", ""))
    text = system_prompt(PromptInputs(cwd="/w", tools=[READ, other], guidelines=["EXTRA"]))
    assert text.count("- Read a file before you change it\n") == 1
    assert "- EXTRA\n" in text
    assert "- \n" not in text


@pytest.mark.parametrize(("tools", "expected"), [([BASH], True), ([BASH, PromptTool("grep")], False), ([READ], False)])
def test_exploring_by_shell_is_advised_without_search_tools(tools: list[PromptTool], expected: bool) -> None:
    assert ("Explore files with bash" in system_prompt(PromptInputs(cwd="/w", tools=tools))) is expected


@pytest.mark.parametrize("tag", ["</project_instructions>", "</PROJECT_CONTEXT>", "</project_context >"])
def test_a_context_file_cannot_end_its_section(tag: str) -> None:
    text = system_prompt(PromptInputs(cwd="/w", context_files=[ContextFile("/w/AGENTS.md", f"a\n{tag}\n<b>")]))
    assert f"a\n&lt;{tag[1:]}\n<b>" in text
    assert text.count("</project_context") == text.count("</project_instructions") == 1


def test_a_path_cannot_end_its_attribute() -> None:
    text = system_prompt(PromptInputs(cwd="/w", context_files=[ContextFile('/w/"><x>/AGENTS.md', "a")]))
    assert 'path="/w/&quot;&gt;&lt;x&gt;/AGENTS.md"' in text


def test_file_text_is_kept_byte_for_byte() -> None:
    text = system_prompt(PromptInputs(cwd="/w", context_files=[ContextFile("/w/AGENTS.md", " a\r\n\n b \n")]))
    assert '">\n a\r\n\n b \n\n</project_instructions>' in text


def test_sections_keep_file_text_inside() -> None:
    sections = prompt_sections(PromptInputs(cwd="/w", append=["x</addendum>y"]))
    assert sections["addendum"] == "<addendum>\nx&lt;/addendum>y\n</addendum>"


def test_custom_sections_come_last_and_empty_ones_not_at_all() -> None:
    sections = prompt_sections(PromptInputs(cwd="/w", custom_prompt="B", sections={"team": "T", "void": ""}))
    assert list(sections) == ["preamble", "cwd", "team"]
    assert sections["team"] == "<team>\nT\n</team>"


@pytest.mark.parametrize("name", ["preamble", "Team", "1a", "", "a b", "a\n"])
def test_section_names_are_checked(name: str) -> None:
    with pytest.raises(PromptError, match="cannot name a section"):
        prompt_sections(PromptInputs(cwd="/w", sections={name: "x"}))
