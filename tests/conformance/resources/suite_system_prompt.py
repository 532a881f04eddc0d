"""The flat system prompt and the named sections: order of the parts, the text of the simple ones."""

from __future__ import annotations

import json
import re
from typing import Any

from piolet.harness.prompt.records import ContextFile, PromptInputs, PromptTool, Skill
from piolet.harness.prompt.system_prompt import prompt_sections, system_prompt
from tests.conformance.outcome import equal
from tests.conformance.resources.world import expect

FREE_TEXT = "(free text)"


def inputs_of(given: dict[str, Any]) -> PromptInputs:
    snippets, hidden = given.get("toolSnippets", {}), given.get("hiddenTools", [])
    appended = given.get("appendSystemPrompt")
    return PromptInputs(
        cwd=given["cwd"],
        tools=[PromptTool(name, snippets.get(name), hidden=name in hidden) for name in given.get("selectedTools", [])],
        custom_prompt=given.get("customPrompt"),
        append=[appended] if appended else [],
        context_files=[ContextFile(file["path"], file["content"]) for file in given.get("contextFiles", [])],
        skills=[skill_of(skill) for skill in given.get("skills", [])],
        docs_path="/docs",
        sections=given.get("sections", {}),
    )


def skill_of(given: dict[str, Any]) -> Skill:
    return Skill(
        given["name"], given["description"], given["filePath"], given["baseDir"], given["disableModelInvocation"]
    )


def sections(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any]:
        texts = prompt_sections(inputs_of(case["in"]))
        result: dict[str, Any] = {name: texts.get(name) for name in ("preamble", "addendum", "cwd", "team")}
        for name, text in texts.items():
            assert name == "preamble" or re.fullmatch(rf"<{name}>\n.*\n</{name}>", text, re.DOTALL), name
        for name, text in result.items():
            if case["out"].get(name) == FREE_TEXT and text:
                result[name] = FREE_TEXT
        return {"order": list(texts), **result}

    expect(case, found)


def flat(case: dict[str, Any], shared: dict[str, Any]) -> None:
    inputs = inputs_of(case["in"])
    text = system_prompt(inputs)
    marks = {
        "base": inputs.custom_prompt or text[:40],
        "append": inputs.append[0] if inputs.append else "",
        "context-open": "<project_context>",
        "instructions": "<project_instructions ",
        "context-close": "</project_context>",
        "skills": "<available_skills>",
        "cwd": "Current working directory:",
    }
    places = {name: text.find(mark) for name, mark in marks.items() if mark}
    present = sorted((place, name) for name, place in places.items() if place >= 0)
    equal([name for _, name in present], case["out"]["order"], "order")
    ending = json.loads(case["out"]["endsWith"])
    assert text.endswith(ending), f"ends with {text[-60:]!r}, expected {ending!r}"


OPS = {"prompt_sections": sections, "prompt_flat_084": flat}
