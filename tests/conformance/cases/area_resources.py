"""Cases about context files, skills, prompt templates and the system prompt."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piolet.app.resources.skills import load_skills
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.prompt.context_files import ContextFileFinder
from piolet.harness.prompt.records import ContextFile, PromptInputs, PromptTool
from piolet.harness.prompt.skills import skill_listing
from piolet.harness.prompt.system_prompt import system_prompt
from piolet.harness.prompt.templates import fill, split_arguments
from tests.conformance.outcome import Skip, equal

#: Sentences that a check below stands for.
PROPERTIES = {
    "the text stands in the prompt once",
    "exactly one real end tag of the section, after the whole file text",
}


def check_case(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    if "property" in expected and expected["property"] not in PROPERTIES:
        raise Skip(f"unknown property {expected['property']!r}")
    match given.get("function"):
        case "split_args":
            equal([split_arguments(row) for row in given["rows"]], expected["result"])
        case "fill":
            equal([fill(*row) for row in given["rows"]], expected["result"])
        case "context_files":
            with _world(case["setup"]) as cwd:
                _check_files(_context_files(cwd / given.get("cwd", "")), expected)
        case "system_prompt":
            with _world(case["setup"]) as cwd:
                _check_prompt(cwd / given.get("cwd", ""), expected)
        case "skills" | "skills_prompt":
            with _world(case["setup"]) as cwd:
                _check_skills(cwd, expected)
        case str(name):
            raise Skip(f"unknown function {name!r}")
        case _:
            raise Skip(f"needs the whole program: {case['title']}")


@contextmanager
def _world(setup: Mapping[str, Any]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(os.path.realpath(folder))
        for name in setup.get("dirs", []):
            (cwd / name).mkdir(parents=True, exist_ok=True)
        for file in setup.get("files", []):
            path = cwd / file["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_content(file))
        for link in setup.get("symlinks", []):
            (cwd / link["path"]).symlink_to(link["target"])
        yield cwd


def _content(file: Mapping[str, Any]) -> bytes:
    if "b64" in file:
        return base64.b64decode(file["b64"])
    if "repeat" in file:
        repeat = file["repeat"]
        return (file.get("prefix", "") + repeat["unit"] * repeat["count"] + file.get("suffix", "")).encode()
    text: str = file["text"]
    return text.encode()


def _context_files(cwd: Path) -> Sequence[ContextFile]:
    return asyncio.run(ContextFileFinder(LocalEnvironment(cwd), str(cwd))())


def _check_files(files: Sequence[ContextFile], expected: Mapping[str, Any]) -> None:
    text = "\n".join(file.content for file in files)
    if "count" in expected:
        equal(len(files), expected["count"], "count")
    for piece in expected.get("content_contains", []):
        equal(piece in text, True, f"{piece!r} in {text!r}")
    _check_order(text, expected)


def _check_prompt(cwd: Path, expected: Mapping[str, Any]) -> None:
    files = _context_files(cwd)
    text = system_prompt(PromptInputs(cwd=str(cwd), tools=[PromptTool("read")], context_files=files))
    for tag in ("project_context", "project_instructions"):
        ends = [match.start() for match in re.finditer(rf"</{tag}\s*>", text, re.IGNORECASE)]
        equal(len(ends), 1 if tag == "project_context" else len(files), f"</{tag}>")
    last_line = files[-1].content.rstrip().rpartition("\n")[2]
    equal(text.index(last_line) < text.index("</project_instructions>"), True, "the text stands inside")
    _check_order(text, expected)


def _check_skills(cwd: Path, expected: Mapping[str, Any]) -> None:
    start = time.monotonic()
    skills, diagnostics = load_skills([str(cwd / "skills")])
    listing = skill_listing(skills)
    if "max_seconds" in expected:
        equal(time.monotonic() - start < expected["max_seconds"], True, "max_seconds")
    if "names" in expected:
        equal(sorted(skill.name for skill in skills), sorted(expected["names"]), "names")
    if "descriptions" in expected:
        equal([skill.description for skill in skills], expected["descriptions"], "descriptions")
    if "count" in expected:
        equal(len(skills), expected["count"], "count")
    if "diagnostics" in expected:
        equal(len(diagnostics), expected["diagnostics"], "diagnostics")
    if "diagnostics_min" in expected:
        equal(len(diagnostics) >= expected["diagnostics_min"], True, f"{len(diagnostics)} diagnostics")
    for piece in expected.get("text_contains", []):
        equal(piece in listing, True, f"{piece!r} in {listing!r}")
    for piece in expected.get("text_not_contains", []):
        equal(piece in listing, False, f"{piece!r} in {listing!r}")
    _check_order(listing, expected)


def _check_order(text: str, expected: Mapping[str, Any]) -> None:
    places = [text.find(piece) for piece in expected.get("order", [])]
    equal(-1 not in places and places == sorted(places), True, f"order {places}")
