"""What the machine gives a process may be broken: its streams, its folders, the files that it is pointed at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.replies import openai
from tests.support.run import PIOLET, Finished, Place
from tests.support.server import ScriptedServer

DEMO = ("-p", "--model", "demo/scripted")
TOO_LARGE = "is too large for a prompt (more than 100 MB)"


def redirected(place: Place, redirection: str, *words: str) -> Finished:
    """Run piolet as a shell does with a redirection."""
    return place.run(*words, command=("sh", "-c", f'exec "$0" "$@" {redirection}', *PIOLET))


def error_of(place: Place, done: Finished) -> str:
    """Return the one line of a start that failed, not by a fault of piolet."""
    assert (done.exit, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert not (place.agent / "piolet-crash.log").exists()
    return line


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_as_good_as_the_null_device(place: Place, closed: str) -> None:
    done = redirected(place, closed, *DEMO, "look around")
    assert (done.exit, done.stderr) == (0, "")
    assert len(place.sessions()) == 1
    assert redirected(place, closed, "--mode", "rpc", "--model", "demo/scripted").exit == 0
    assert not (place.agent / "piolet-crash.log").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [("--version",), ("--help",), (*DEMO, "x"), (*DEMO, "--mode", "json", "x")])
def test_an_answer_that_cannot_be_written_is_an_error(place: Place, words: tuple[str, ...]) -> None:
    error = error_of(place, redirected(place, ">/dev/full", *words))
    assert error == "Error: Standard output cannot be written: No space left on device"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_an_export_that_cannot_be_written_is_an_error(place: Place) -> None:
    assert place.run(*DEMO, "x" * 20000).exit == 0
    (session,) = map(str, place.sessions())
    for words in (("--export", session, "-"), ("sessions", "export", session, "-")):
        error = error_of(place, redirected(place, ">/dev/full", *words))
        assert error == "Error: Standard output cannot be written: No space left on device"
    assert place.run("--export", session, "out.JSONL").exit == 0
    assert (place.cwd / "out.JSONL").read_bytes().startswith(b'{"type":"session"')


@pytest.mark.parametrize("words", [("--version",), ("--help",), (*DEMO, "x")])
def test_a_reader_that_left_is_no_news(place: Place, words: tuple[str, ...]) -> None:
    done = place.run(*words, command=("bash", "-c", '"$0" "$@" | true; exit ${PIPESTATUS[0]}', *PIOLET))
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_work_goes_on_if_nobody_can_read_what_is_said_beside_it(place: Place) -> None:
    done = redirected(place, "2>/dev/full", *DEMO, "--thinking", "wrong", "look around")
    assert done.exit == 0
    assert done.stdout.startswith("DEMO")


@pytest.mark.parametrize("words", [(*DEMO, "x"), ("--list-models",), ("sessions", "list")])
def test_a_working_directory_that_is_gone_is_named_as_the_reason(place: Place, words: tuple[str, ...]) -> None:
    done = place.run(*words, command=("sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$0" "$@"', *PIOLET))
    assert "The working directory cannot be used" in error_of(place, done)


def test_an_interrupt_ends_the_wait_for_standard_input(place: Place) -> None:
    process = place.start("--verbose", *DEMO)
    assert process.stdin is not None
    assert process.stderr is not None
    assert b"standard input" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()


def test_what_has_no_end_is_refused(place: Place) -> None:
    assert error_of(place, place.run(*DEMO, "@/dev/zero", "x")) == f"Error: /dev/zero {TOO_LARGE}"
    assert error_of(place, redirected(place, "</dev/zero", *DEMO)) == f"Error: standard input {TOO_LARGE}"


def test_a_named_pipe_is_read_to_its_end(place: Place) -> None:
    os.mkfifo(place.cwd / "pipe")
    writer = threading.Thread(target=(place.cwd / "pipe").write_text, args=("from the pipe",))
    writer.start()
    with ScriptedServer([openai("ok")]) as server:
        place.write_models(server.url)
        done = place.run("-p", "--model", "stub/m1", "@pipe", "x")
    writer.join()
    assert done.exit == 0, done
    prompt = server.requests[0].body["messages"][1]["content"][0]["text"]
    assert prompt == f'<file name="{place.cwd}/pipe">\nfrom the pipe\n</file>\nx'


def test_names_of_users_that_do_not_exist_are_names(place: Place) -> None:
    assert f"File not found: {place.cwd}/~nobody-here/x" in error_of(place, place.run(*DEMO, "@~nobody-here/x", "x"))
    assert "file://far/x" in error_of(place, place.run(*DEMO, "@file://far/x", "x"))


def test_bytes_that_are_not_utf8_do_no_harm(place: Place) -> None:
    bad = os.fsdecode(b"caf\xe9")
    (place.cwd / bad).write_text("content")
    with ScriptedServer([openai("ok")]) as server:
        place.write_models(server.url)
        assert place.run("-p", "--model", "stub/m1", f"@{bad}", bad).exit == 0
        prompt = server.requests[0].body["messages"][1]["content"][0]["text"]
    assert prompt == f'<file name="{place.cwd}/caf\ufffd">\ncontent\n</file>\ncaf\ufffd'
    assert "not found" in error_of(place, place.run("-p", "--model", f"{bad}/{bad}", "x"))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("h\u00e9".encode("utf-16"), "\nh\u00e9\n"),
        (b"\xef\xbb\xbfhi", "\nhi\n"),
        (b"%PDF-1.7\n\xff", "[This is not text: PDF document. Use bash to look into it.]"),
        (b"a\0b", "[This is not text: binary data. Use bash to look into it.]"),
        (b"caf\xe9", "\ncaf\ufffd\n"),
    ],
)
def test_files_that_are_no_utf8_are_decoded_or_named(data: bytes, text: str) -> None:
    from piolet.cli.prompt_input import InputFile, initial_prompts
    from piolet.harness.tools.options import ImageSettings

    (prompt,) = initial_prompts(None, [InputFile(Path("/x"), data)], ["go"], ImageSettings())
    assert prompt.text == f'<file name="/x">{text}</file>\ngo'


@pytest.mark.parametrize("content", ["{", "[" * 100_000, '{"providers": {"stub": {"models": [{"id": 5}]}}}'])
def test_a_models_json_that_hides_the_wanted_model_is_told(place: Place, content: str) -> None:
    place.agent.mkdir(parents=True)
    (place.agent / "models.json").write_text(content)
    error = error_of(place, place.run("-p", "--model", "stub/m1", "x"))
    assert error.startswith(f"Error: {place.agent / 'models.json'}")
    assert 'Model "stub/m1" not found' in error


@pytest.mark.parametrize("content", ["{", "[" * 100_000, "[]"])
def test_an_auth_json_that_cannot_be_used_is_the_reason_why_there_is_no_key(place: Place, content: str) -> None:
    place.write_models("http://127.0.0.1:1")
    (place.agent / "auth.json").write_text(content)
    assert str(place.agent / "auth.json") in error_of(place, place.run("-p", "--model", "stub/m1", "x"))


def test_a_terminal_draws_no_escape_sequence_of_a_model(place: Place) -> None:
    master, slave = os.openpty()
    with ScriptedServer(lambda request: openai("\x1b]52;c;cHduZWQ=\x07\x1b[2Jred")) as server:
        place.write_models(server.url)
        words = [*PIOLET, "-p", "--model", "stub/m1", "x"]
        subprocess.run(
            words, cwd=place.cwd, env=place.environment(), stdin=subprocess.DEVNULL, stdout=slave, check=True
        )
        assert place.run("-p", "--model", "stub/m1", "x").stdout == "\x1b]52;c;cHduZWQ=\x07\x1b[2Jred\n"
    os.close(slave)
    assert os.read(master, 1000) == b"red\r\n"
    os.close(master)


def test_what_tells_of_faults_has_none(place: Place) -> None:
    program = (
        "import sys, piolet.cli.crash as crash, piolet.cli.start as start\n"
        "def broken(*words): raise RuntimeError('a secret')\n"
        "start._start = crash._secrets = broken\n"
        "from piolet.cli.main import main\n"
        "sys.exit(main())\n"
    )
    done = place.run(*DEMO, "x", command=(sys.executable, "-c", program))
    assert (done.exit, done.stderr) == (1, "Error: This is a fault in piolet: RuntimeError (--verbose shows where)\n")


def test_a_package_that_is_missing_is_named_with_what_to_do(place: Place) -> None:
    program = "import sys\nsys.modules['msgspec'] = None\nfrom piolet.cli.main import main\nsys.exit(main())\n"
    error = error_of(place, place.run(*DEMO, "x", command=(sys.executable, "-c", program)))
    assert error.startswith("Error: The Python package msgspec is missing from this installation. Install piolet anew")
