"""Running commands for a model (tools specification, section 3)."""

from __future__ import annotations

import asyncio
import re
import stat
import time
from itertools import pairwise
from pathlib import Path

import pytest

from piolet.agent.tools import ToolResult
from piolet.base.abort import AbortController
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.tools.options import ShellSpawn, ToolOptions
from tests.harness.tools.calling import Tools, text_of
from tests.support.timing import until


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(logs))
    folder = tmp_path / "work"
    folder.mkdir()
    return Tools(LocalEnvironment(folder))


def log_of(result: ToolResult) -> Path:
    found = re.search(r"Full output: (\S+)\]", text_of(result))
    assert found
    return Path(found[1])


async def test_the_expected_transcript(tools: Tools) -> None:
    result = await tools.call("bash", command="printf hi; exit 3")
    assert (text_of(result), result.details, result.is_error) == ("hi\n\nCommand exited with code 3", None, True)
    structured = dict(result.structured_content)
    assert structured.pop("wall_time_seconds") < 2
    assert structured == {"output": "hi", "truncated": False, "exit_code": 3}
    first, second = tools.updates
    assert (first.content, first.details) == ([], None)
    assert (text_of(second), second.details) == ("hi", {})


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("true", "(no output)"),
        ("printf '\\n'", "\n"),
        ("echo a", "a\n"),
        ("echo x; exit 7", "x\n\n\nCommand exited with code 7"),
        ("exit 7", "(no output)\n\nCommand exited with code 7"),
        ("kill -15 $$", "(no output)\n\nCommand exited with code 143"),
        ("printf '\\344'; sleep 0.2; printf '\\270\\255\\n'", "中\n"),
        ("printf 'a\\xffb'", "a\ufffdb"),
        ("printf '\\033[1mx\\033[0m\\r\\n'", "x\n"),
        ("cat", "(no output)"),
        ("[[ a == a* ]] && echo yes", "yes\n"),
        ("shopt -q login_shell || echo plain", "plain\n"),
    ],
)
async def test_output_and_status(tools: Tools, command: str, text: str) -> None:
    assert text_of(await tools.call("bash", command=command)) == text


async def test_the_last_2000_lines_are_shown_and_all_are_kept(tools: Tools) -> None:
    result = await tools.call("bash", command="seq 1 5000; exit 4")
    text, log = text_of(result), log_of(result)
    assert text.startswith("3001\n3002\n")
    assert text.endswith(
        f"\n5000\n\n[Showing lines 3001-5000 of 5000. Full output: {log}]\n\nCommand exited with code 4"
    )
    assert log.read_bytes() == b"".join(b"%d\n" % number for number in range(1, 5001))
    assert re.fullmatch(r"pi-bash-[0-9a-f]{16}\.log", log.name)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert result.details["fullOutputPath"] == str(log)
    assert result.details["truncation"]["totalLines"] == 5000


@pytest.mark.parametrize(
    ("command", "notice"),
    [
        ("for i in $(seq 100); do printf '%01000d\\n' $i; done", "Showing lines 50-100 of 100 (50.0KB limit)"),
        ("head -c 60000 /dev/zero | tr '\\0' x", "Showing last 50.0KB of line 1 (line is 58.6KB)"),
        ("head -c 60000 /dev/zero | tr '\\0' x; echo", "Showing last 50.0KB of line 1 (line is 58.6KB)"),
    ],
)
async def test_the_byte_limit_is_told(tools: Tools, command: str, notice: str) -> None:
    assert f"\n\n[{notice}. Full output: " in await tools.text("bash", command=command)


async def test_no_file_is_left_where_all_was_shown(tools: Tools, tmp_path: Path) -> None:
    command = "for i in $(seq 20000); do printf '\\033[31m\\033[0m\\033[31m\\033[0m'; done; echo end"
    assert await tools.text("bash", command=command) == "end\n"
    assert list((tmp_path / "logs").iterdir()) == []


async def test_output_without_end_is_bounded_in_memory_and_killed(tools: Tools, tmp_path: Path) -> None:
    controller = AbortController()
    running = asyncio.create_task(tools.call("bash", controller.signal, command="yes"))
    await until(lambda: sum(file.stat().st_size for file in (tmp_path / "logs").iterdir()) > 1_000_000)
    controller.abort()
    text = text_of(await running)
    assert len(text) < 52_000
    assert text.endswith("\n\nCommand aborted")
    assert log_of(ToolResult.of_text(text)).stat().st_size > 1_000_000


@pytest.mark.parametrize(
    ("command", "timeout", "text"),
    [
        ("sleep 9", 0.3, "Command timed out after 0.3 seconds"),
        ("echo hi; sleep 60", 1.5, "hi\n\n\nCommand timed out after 1.5 seconds"),
        ("sleep 0.1; printf x; sleep 60", 2, "x\n\nCommand timed out after 2 seconds"),
    ],
)
async def test_a_time_out_keeps_the_output(tools: Tools, command: str, timeout: float, text: str) -> None:
    result = await tools.call("bash", command=command, timeout=timeout)
    assert (text_of(result), result.structured_content, result.is_error) == (text, None, True)


async def test_a_time_out_after_the_exit_tells_the_code(tools: Tools) -> None:
    command = "(while :; do echo tick; sleep 0.02; done) & exit 3"
    text = await tools.failure("bash", command=command, timeout=2.5)
    assert re.search("Command timed out after 2.5 seconds. The shell exited with code 3 after [01] seconds", text)


@pytest.mark.parametrize(
    ("timeout", "message"),
    [
        (0, "Invalid timeout: must be a finite number of seconds"),
        (-1, "Invalid timeout: must be a finite number of seconds"),
        (2_147_484, "Invalid timeout: maximum is 2147483.647 seconds"),
    ],
)
async def test_time_outs_that_make_no_sense(tools: Tools, timeout: float, message: str) -> None:
    assert await tools.failure("bash", command="true", timeout=timeout) == message


async def test_progress_comes_at_once_and_then_at_most_every_tenth_of_a_second(tools: Tools) -> None:
    moments: list[tuple[float, str]] = []

    def note(update: ToolResult) -> None:
        moments.append((time.monotonic(), text_of(update)))

    command = "echo first; for i in $(seq 60); do echo $i; sleep 0.01; done"
    tool = tools.by_name["bash"]
    await tool.execute("1", {"command": command}, AbortController().signal, note)
    texts = [text for _, text in moments]
    assert texts[0] == ""
    assert texts[1].startswith("first\n")
    assert texts[-1].endswith("\n60\n")
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(moments[1:-1])]
    assert gaps
    assert min(gaps) > 0.09
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


async def test_progress_of_long_output_names_the_file(tools: Tools) -> None:
    await tools.text("bash", command="seq 1 3000; sleep 0.3; echo end")
    details = tools.updates[-1].details
    assert details["truncation"]["totalLines"] == 3001
    assert Path(details["fullOutputPath"]).exists()
    assert "Showing lines" not in text_of(tools.updates[-1])


async def test_a_very_long_output_is_structured_by_both_ends(tools: Tools) -> None:
    result = await tools.call("bash", command="echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
    structured = result.structured_content
    assert structured["output"].startswith("begin\nxxx")
    assert structured["output"].endswith("xxx\nend\n")
    omitted = 3_000_011 - 1024 * 1024
    assert f"\n\n[... {omitted} bytes omitted ...]\n\n" in structured["output"]
    assert (structured["truncated"], Path(structured["full_output_path"])) == (True, log_of(result))


async def test_options_are_asked_at_each_call(tmp_path: Path) -> None:
    prefix = "A=1"
    seen: list[ShellSpawn] = []

    def hook(spawn: ShellSpawn) -> ShellSpawn:
        seen.append(spawn)
        return ShellSpawn(f"{spawn.command}; pwd", "/", {**spawn.env, "C": "3"})

    options = ToolOptions(
        command_prefix=lambda: prefix,
        command_variables=lambda: {"B": "2", "PI_SESSION_FILE": None},
        shell_path=lambda: "/bin/sh",
        spawn_hook=hook,
    )
    environment = LocalEnvironment(tmp_path, env={"PI_SESSION_FILE": "outer"})
    tools = Tools(environment, options)
    command = "echo $A $B $C ${PI_SESSION_FILE-unset} $0"
    assert await tools.text("bash", command=command) == "1 2 3 unset /bin/sh\n/\n"
    prefix = "A=other"
    assert (await tools.text("bash", command=command)).startswith("other 2 3")
    assert (seen[0].command, seen[0].cwd) == (f"A=1\n{command}", environment.cwd)


async def test_what_cannot_be_run(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "work").rmdir()
    folder = tools.environment.cwd
    message = f"Working directory does not exist: {folder}\nCannot execute bash commands."
    assert await tools.failure("bash", command="true") == message
    (tmp_path / "work").mkdir()
    assert "NUL" in await tools.failure("bash", command="echo \0")
    assert "E2BIG: argument list too long" in await tools.failure("bash", command="true " + "x" * 200_000)
    missing = Tools(tools.environment, ToolOptions(shell_path=lambda: "/no/shell"))
    assert await missing.failure("bash", command="true") == "Custom shell path not found: /no/shell"
    assert "no shell" in await Tools(MemoryEnvironment()).failure("bash", command="true")


async def test_lone_surrogates_in_a_command_become_replacement_marks(tools: Tools) -> None:
    assert await tools.text("bash", command="echo '\ud83d'") == "\ufffd\n"


async def test_a_full_disk_does_not_kill_the_command(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    text = await tools.text("bash", command="seq 1 3000; echo done")
    assert text.endswith("3000\ndone\n\n[Showing lines 1002-3001 of 3001. Full output: could not be saved]")


async def test_two_commands_run_at_the_same_time(tools: Tools) -> None:
    wait = "touch {mine}; until [ -e {other} ]; do sleep 0.01; done; echo met"
    commands = (wait.format(mine="a", other="b"), wait.format(mine="b", other="a"))
    async with asyncio.timeout(60):
        assert await asyncio.gather(*(tools.text("bash", command=command) for command in commands)) == ["met\n"] * 2
