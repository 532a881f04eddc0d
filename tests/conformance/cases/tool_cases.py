"""Cases of one or more tool calls in a folder, applied over real files, over files in memory and on far sides."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import os
import re
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piolet.agent.arguments import InvalidArguments, prepare
from piolet.agent.tools import ToolResult
from piolet.base.abort import AbortController
from piolet.base.json import dumps, encode
from piolet.harness.environments.base import Environment
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.tools import built_in_tools
from piolet.llm.messages import ImageContent, TextContent, ToolCall
from tests.conformance.outcome import Skip
from tests.support.far import FarPlaces
from tests.support.timing import TooSlow, within

SETUP_KEYS = {"files", "dirs", "symlinks", "fifos", "env"}
#: The test's own patience, where a case has none.
WAIT_SECONDS = 30


@dataclass
class World:
    """An environment with what a case needs to look at it."""

    environment: Environment
    read: Callable[[str], Awaitable[bytes | None]]


def check_case(case: dict[str, Any]) -> None:
    """Apply a case over real files, with each search engine, and over files in memory where it needs no process."""
    for name in worlds_of(case):
        try:
            check_in(name, case)
        except AssertionError as error:
            raise type(error)(f"[{name}] {error}") from error


def worlds_of(case: dict[str, Any]) -> list[str]:
    """Return the names of the worlds that a case can be applied in."""
    calls = case["input"].get("calls", [case["input"]])
    names = ["local"]
    if any(call["tool"] == "grep" for call in calls):
        names.append("local-without-ripgrep")
    if not any(call["tool"] == "bash" for call in calls) and not case["setup"].get("fifos"):
        names.append("memory")
    return names


def check_in(name: str, case: dict[str, Any], far: FarPlaces | None = None) -> None:
    """Apply a case in the world of that name, or on that far side; raise where the outcome is wrong."""
    unknown = case["setup"].keys() - SETUP_KEYS
    if unknown:
        raise Skip(f"setup {', '.join(sorted(unknown))} is not known to this runner")
    with contextlib.ExitStack() as stack:
        if name == "memory":
            world = _memory_world(case["setup"])
        else:
            folder = stack.enter_context(_folder() if far is None else far.working_folder())
            world = _local_world(folder, case["setup"], use_ripgrep=name == "local")
            if far is not None:
                if case["setup"].get("env"):
                    raise Skip("a far side has variables of its own")
                world.environment = far.environment(name, folder)
        asyncio.run(_check(world, case))


async def _check(world: World, case: dict[str, Any]) -> None:
    calls = case["input"].get("calls", [case["input"]])
    results = []
    started = time.monotonic()
    for call in calls:
        patience = case["input"].get("wait_s", WAIT_SECONDS)
        results.append(await asyncio.wait_for(_call(world.environment, call), patience))
    seconds = time.monotonic() - started
    expected = case["expected"]
    for result, wanted in zip(results, expected.get("each", [expected] * len(results)), strict=True):
        await _check_any(world, result, seconds, wanted)


async def _call(environment: Environment, call: dict[str, Any]) -> ToolResult:
    tool = built_in_tools(environment)[call["tool"]]
    arguments = _placed(copy.deepcopy(call["args"]), environment.cwd)
    try:
        prepared = prepare(tool, ToolCall("call", tool.name, arguments))
        return await tool.execute("call", prepared, AbortController().signal, lambda update: None)
    except InvalidArguments as error:
        return ToolResult.of_text(str(error), is_error=True)
    except Exception as error:
        return ToolResult.of_text(str(error), details={}, is_error=True)


async def _check_any(world: World, result: ToolResult, seconds: float, expected: dict[str, Any]) -> None:
    if "one_of" not in expected:
        return await _check_result(world, result, seconds, expected)
    problems = []
    for wanted in expected["one_of"]:
        try:
            return await _check_result(world, result, seconds, wanted)
        except TooSlow:
            raise
        except AssertionError as error:
            problems.append(str(error))
    raise AssertionError(" / ".join(problems))


async def _check_result(world: World, result: ToolResult, seconds: float, expected: dict[str, Any]) -> None:
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    images = [block.mime_type for block in result.content if isinstance(block, ImageContent)]
    encode([result.content, result.details, result.structured_content])
    for key, value in _placed(expected, world.environment.cwd).items():
        match key:
            case "isError":
                assert result.is_error == value, f"isError {result.is_error}: {text[:200]!r}"
            case "text":
                assert text == value, f"{text[:300]!r} is not {value[:300]!r}"
            case "text_starts":
                assert text.startswith(value), f"{text[:200]!r} does not begin with {value!r}"
            case "text_contains":
                assert all(part in text for part in value), f"{value} not all in {text[:300]!r}"
            case "text_not_contains":
                assert not any(part in text for part in value), f"one of {value} in {text[:300]!r}"
            case "min_chars":
                assert len(text) >= value
            case "max_chars":
                assert len(text) <= value, f"{len(text)} characters"
            case "max_seconds":
                within(seconds, value)
            case "images":
                assert images == value, f"images {images}"
            case "well_formed_unicode":
                text.encode()
            case "json_serializable":
                dumps([result.content, result.details])
            case "line_count_before_notice":
                assert text[: text.rindex("\n\n[")].count("\n") + 1 == value
            case "files":
                for path, state in value.items():
                    await _check_file(world, path, state)
            case "absent":
                for path in value:
                    assert await _stat(world, path) is None, f"{path} exists"
            case "files_valid_utf8":
                for path in value:
                    (await world.read(path) or b"").decode()
            case "modes":
                for path, mode in value.items():
                    await _check_file(world, path, {"mode": mode})
            case "no_process_matching":
                deadline = time.monotonic() + 20  # what was killed takes a moment to go
                while (running := _processes_like(value)) and time.monotonic() < deadline:
                    await asyncio.sleep(0.05)
                assert not running, f"still running: {running}"
            case "no_process_left_waiting":
                assert len(asyncio.all_tasks()) == 1, f"tasks left: {asyncio.all_tasks()}"
            case "full_output_file_lines":
                found = re.search(r"Full output: (\S+)\]", text)
                assert found, "no file is named"
                assert (await world.environment.read_bytes(found[1])).count(b"\n") == value
                await world.environment.remove(found[1])
            case _:
                raise Skip(f"the expectation {key!r} is not known to this runner")


async def _check_file(world: World, path: str, state: dict[str, Any] | None) -> None:
    if state is None:
        assert await _stat(world, path) is None, f"{path} exists"
        return
    for key, value in state.items():
        match key:
            case "text":
                assert await world.read(path) == value.encode(), f"{path}: {await world.read(path)!r}"
            case "b64":
                assert await world.read(path) == base64.b64decode(value), f"{path}: {await world.read(path)!r}"
            case "symlink":
                info = await _stat(world, path)
                assert info is not None, f"{path} is missing"
                assert info.kind == "symlink", f"{path} is a {info.kind}"
                link = await world.environment.resolve(path)
                target = await world.environment.resolve(value)
                assert await world.environment.canonical(link) == await world.environment.canonical(target)
            case "mode":
                full = await world.environment.resolve(path)
                info = await world.environment.stat(full)
                assert info is not None, f"{path} is missing"
                assert info.mode == int(value, 8), f"{path} has the mode {info.mode:o}"
            case _:
                raise Skip(f"the file property {key!r} is not known to this runner")


async def _stat(world: World, path: str) -> Any:
    return await world.environment.stat(await world.environment.resolve(path), follow=False)


def _placed(value: Any, cwd: str) -> Any:
    """Return `value` with the working folder in place of its mark."""
    match value:
        case str():
            return value.replace("<CWD>", cwd)
        case dict():
            return {key: _placed(item, cwd) for key, item in value.items()}
        case list():
            return [_placed(item, cwd) for item in value]
        case _:
            return value


def content_of(file: dict[str, Any]) -> bytes:
    """Return the bytes of a file of a setup."""
    if "b64" in file:
        return base64.b64decode(file["b64"])
    repeat = file.get("repeat", {"unit": "", "count": 0})
    parts = (file.get("text", ""), file.get("prefix", ""), repeat["unit"] * repeat["count"], file.get("suffix", ""))
    return "".join(parts).encode()


def _memory_world(setup: dict[str, Any]) -> World:
    environment = MemoryEnvironment({file["path"]: content_of(file) for file in setup.get("files", ())})
    for file in setup.get("files", ()):
        if "mode" in file:
            environment.set_mode(file["path"], int(file["mode"], 8))
    for path in setup.get("dirs", ()):
        environment.add_folder(path)
    for link in setup.get("symlinks", ()):
        environment.add_link(link["path"], link["target"])

    async def read(path: str) -> bytes | None:
        full = await environment.resolve(path)
        return await environment.read_bytes(full) if await environment.stat(full) is not None else None

    return World(environment, read)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="piolet-case-")))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _local_world(folder: Path, setup: dict[str, Any], *, use_ripgrep: bool) -> World:
    for path in setup.get("dirs", ()):
        (folder / path).mkdir(parents=True, exist_ok=True)
    for file in setup.get("files", ()):
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_of(file))
        if "mode" in file:
            path.chmod(int(file["mode"], 8))
    for link in setup.get("symlinks", ()):
        path = folder / link["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(link["target"])
    for fifo in setup.get("fifos", ()):
        os.mkfifo(folder / fifo)
    variables = {name: _placed(value, str(folder)) for name, value in setup.get("env", {}).items()}
    environment = LocalEnvironment(folder, env={**os.environ, **variables}, use_ripgrep=use_ripgrep)

    async def read(path: str) -> bytes | None:
        full = folder / path
        return full.read_bytes() if full.exists() else None

    return World(environment, read)


def _processes_like(command: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if command in line and "python" not in line:
                found.append(line)
    return found
