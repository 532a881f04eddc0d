"""Cases about context files, skills, prompt templates and the system prompt."""

from __future__ import annotations

import asyncio
import base64
import json
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
from tests.support.run import Place
from tests.support.timing import within

#: Sentences that a check below stands for.
PROPERTIES = {
    "the text stands in the prompt once",
    "exactly one real end tag of the section, after the whole file text",
    "/hello works; three errors reported on standard error; exit code 0",
    "every line of standard output is one JSON object",
}

#: The extensions that a setup describes, as files.
EXTENSIONS = {
    "raise at import": "raise RuntimeError('at import')\n",
    "raise in extension(pi)": "def extension(pi):\n    raise RuntimeError('when called')\n",
    "syntax error": "def extension(pi:\n",
    "good one registering /hello": """
import sys

def extension(pi):
    pi.register_command("hello", lambda args, ctx: print("hello works", file=sys.stderr))
""",
    "print('noise') at load and in a handler": """
print("noise")

def extension(pi):
    print("noise")
    for event in ("session_start", "before_agent_start", "message_end", "agent_settled", "session_shutdown"):
        pi.on(event, lambda event, ctx: print("noise"))
""",
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
        case _ if given.get("run") == "print mode" and "extensions" in case["setup"]:
            _check_faulty_extensions(case["setup"]["extensions"])
        case _ if given.get("run") == "json mode and rpc mode" and "extensions" in case["setup"]:
            _check_noisy_extensions(case["setup"]["extensions"])
        case _:
            raise Skip(f"needs the whole program: {case['title']}")


@contextmanager
def _place_with(extensions: Sequence[str]) -> Iterator[Place]:
    """A home whose user has the extensions that are described."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place.below(Path(folder))
        for number, description in enumerate(extensions):
            if description not in EXTENSIONS:
                raise Skip(f"unknown extension {description!r}")
            path = place.agent / "extensions" / f"e{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(EXTENSIONS[description], encoding="utf-8")
        yield place


def _check_faulty_extensions(extensions: Sequence[str]) -> None:
    with _place_with(extensions) as place:
        done = place.run("-p", "/hello", "--model", "demo/scripted")
        equal(done.exit, 0, done.stderr)
        assert "hello works" in done.stderr, done.stderr
        faulty = [number for number, description in enumerate(extensions) if not description.startswith("good")]
        for number in faulty:
            assert f"e{number}.py" in done.stderr, done.stderr
        equal(done.stderr.count("Extension error ("), len(faulty), done.stderr)
        assert "Traceback" not in done.stderr, done.stderr


def _check_noisy_extensions(extensions: Sequence[str]) -> None:
    prompt = '{"id":"1","type":"prompt","message":"hi"}\n'
    with _place_with(extensions) as place:
        as_json = place.run("--mode", "json", "--model", "demo/scripted", "hi")
        with place.start("--mode", "rpc", "--model", "demo/scripted") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(prompt.encode())
            process.stdin.flush()
            lines = []
            while b"agent_settled" not in (line := process.stdout.readline()):
                assert line, "the program ended early"
                lines.append(line.decode())
            rest, errors = process.communicate(timeout=60)
        for output, error in ((as_json.stdout, as_json.stderr), ("".join(lines) + rest.decode(), errors.decode())):
            for line in output.splitlines():
                assert isinstance(json.loads(line), dict), line
            assert error.count("noise") >= 5, error


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
        within(time.monotonic() - start, expected["max_seconds"])
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
