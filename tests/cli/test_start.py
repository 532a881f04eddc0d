"""Starting as a user starts it: what is said when something is wrong, and what is left behind then (nothing)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from piolet.cli.main import COMMANDS
from tests.support.replies import openai
from tests.support.run import ROOT, Finished, Place
from tests.support.server import ScriptedServer
from tests.support.terminal import Terminal


def one_error(place: Place, done: Finished) -> str:
    """Return the one line of a start that failed and left nothing."""
    assert done.exit == 1, done
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Warning: ")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Error: ")
    assert place.sessions() == []
    return lines[0]


def test_no_model_at_all_names_the_ways_on(place: Place) -> None:
    error = one_error(place, place.run("-p", "hi"))
    for way in ("ANTHROPIC_API_KEY", "piolet auth login", "--model", "models.json", "demo/scripted"):
        assert way in error


def test_an_unknown_model(place: Place) -> None:
    assert '"nosuch" not found' in one_error(place, place.run("-p", "--model", "nosuch", "hi"))
    assert 'Unknown provider "x"' in one_error(place, place.run("-p", "--provider", "x", "--model", "y", "hi"))


def test_a_model_without_a_key(place: Place) -> None:
    error = one_error(place, place.run("-p", "--model", "openai/gpt-x", "hi"))
    assert "OPENAI_API_KEY" in error


def test_a_server_that_cannot_be_reached(place: Place) -> None:
    place.write_models("http://127.0.0.1:1")
    place.write_settings({"retry": {"enabled": False}})
    done = place.run("-p", "--model", "stub/m1", "hi")
    assert (done.exit, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert place.sessions() == []


def test_a_broken_models_json_is_told_with_its_place(place: Place) -> None:
    place.agent.mkdir(parents=True)
    (place.agent / "models.json").write_text('{"providers": }')
    done = place.run("-p", "hi")
    assert done.stderr.splitlines()[0].startswith(f"Warning: {place.agent / 'models.json'}, line 1")
    one_error(place, done)


def test_broken_settings_are_told_and_count_as_none(place: Place) -> None:
    with ScriptedServer([openai("Hello.")]) as server:
        place.write_models(server.url)
        (place.agent / "settings.json").write_text("{")
        done = place.run("-p", "--model", "stub/m1", "hi")
    assert done.stdout == "Hello.\n"
    assert done.stderr.startswith(f"Warning: {place.agent / 'settings.json'} cannot be used")


@pytest.mark.parametrize("content", [b'{"piolet": {"environment": "sandbox"}', b'\xff\xfe{"environment": "sandbox"}'])
def test_settings_that_cannot_be_used_lift_no_sandbox(place: Place, content: bytes) -> None:
    with ScriptedServer([openai("Hello.")]) as server:
        place.write_models(server.url)
        (place.agent / "settings.json").write_bytes(content)
        said = one_error(place, place.run("-p", "--model", "stub/m1", "hi"))
        assert said.startswith(f"Error: {place.agent / 'settings.json'} cannot be used: ")
        assert "--env local" in said
        assert server.requests == []
        done = place.run("-p", "--model", "stub/m1", "--env", "local", "hi")
    assert (done.stdout, done.stderr.startswith("Warning: ")) == ("Hello.\n", True)


def test_a_setting_that_must_not_be_ignored_is_an_error(place: Place) -> None:
    place.write_models("http://127.0.0.1:1")
    place.write_settings({"httpIdleTimeoutMs": -1})
    assert "httpIdleTimeoutMs" in one_error(place, place.run("-p", "--model", "stub/m1", "hi"))


def test_a_provider_that_names_no_models_says_how_to_get_some(place: Place) -> None:
    place.write_models("http://127.0.0.1:1", models=[])
    said = one_error(place, place.run("-p", "--model", "stub/m1", "hi"))
    assert 'The provider "stub" has no models yet: name them in models.json, or run: piolet update --models' in said
    assert "has no models yet" in one_error(place, place.run("-p", "--provider", "stub", "--model", "m1", "hi"))


def test_a_broken_trust_file_is_an_error_that_names_it(place: Place) -> None:
    place.agent.mkdir(parents=True)
    (place.agent / "trust.json").write_text("[]")
    assert "trust.json" in one_error(place, place.run("-p", "--model", "demo/scripted", "hi"))


def test_files_are_read_before_anything_is_written(place: Place) -> None:
    (place.cwd / "secret").write_text("x")
    assert "File not found" in one_error(place, place.run("-p", "--model", "demo/scripted", "@missing", "hi"))
    assert "Could not read file" in one_error(place, place.run("-p", "--model", "demo/scripted", "@.", "hi"))


def test_a_place_for_tools_that_does_not_exist_is_told(place: Place) -> None:
    for choice, words in {
        "vm:x": "no place for tools to act; there are local, sandbox, docker:IMAGE",
        "ssh:-oProxyCommand=touch x": "is no host",
        "ssh:nobody@127.0.0.1:/x": "cannot be reached",
    }.items():
        ssh = place.home / "bin" / "ssh"
        ssh.parent.mkdir(exist_ok=True)
        ssh.write_text("#!/bin/sh\necho refused >&2\nexit 255\n")
        ssh.chmod(0o755)
        path = f"{ssh.parent}:/usr/bin:/bin"
        done = place.run("-p", "--env", choice, "--model", "demo/scripted", "hi", env={"PATH": path})
        assert words in one_error(place, done)
    assert not list(place.cwd.iterdir())


def test_unknown_options_and_commands_are_questioned(place: Place) -> None:
    assert "Did you mean --continue?" in one_error(place, place.run("--contineu", "-p", "hi"))
    assert "--one, --two" in one_error(place, place.run("--one", "--two", "-p", "hi"))
    assert "Did you mean sessions?" in one_error(place, place.run("sesions"))
    assert "not in this version" in one_error(place, place.run("mcp", "list"))


@pytest.mark.parametrize("words", [("sessions",), ("sessions", "lst"), ("usage", "x"), ("install",), ("list", "--al")])
def test_a_mistake_behind_a_command_is_one_line_that_names_its_help(place: Place, words: tuple[str, ...]) -> None:
    assert f"(see piolet {words[0]} --help)" in one_error(place, place.run(*words))


def test_the_help_names_every_command(place: Place) -> None:
    shown = place.run("--help").stdout
    assert [command for command in COMMANDS if command not in shown and command != "uninstall"] == []


def test_escape_sequences_of_others_do_not_reach_the_terminal(place: Place) -> None:
    name = "a\x1b]0;pwn\x07b\x1b[31m\u202ec"
    folder = place.agent / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("no front matter")
    done = place.run("-p", "--model", "demo/scripted", "--skill", f"missing{name}", "hi")
    assert len(done.stderr.splitlines()) == 2
    assert not any(char < " " and char != "\n" for char in done.stderr)
    assert "\u202e" not in done.stderr


def test_api_keys_and_tools_choose_what_a_request_holds(place: Place) -> None:
    with ScriptedServer(lambda request: openai("Hello.")) as server:
        place.write_models(server.url)
        place.run("-p", "--model", "stub/m1", "--api-key", "mine", "--tools", "+grep,-bash", "-xt", "w*", "hi")
        place.run("-p", "--model", "stub/m1", "--no-tools", "hi")
    first, second = server.requests
    assert first.headers["authorization"] == "Bearer mine"
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["read", "edit", "grep"]
    assert "tools" not in second.body


def test_system_texts_come_from_flags_then_project_then_home(place: Place) -> None:
    project = place.cwd / ".pi"
    project.mkdir()
    place.agent.mkdir(parents=True)
    (place.agent / "SYSTEM.md").write_text("Home prompt.")
    (place.agent / "APPEND_SYSTEM.md").write_text("Home addition.")
    (project / "SYSTEM.md").write_text("Project prompt.")
    (place.cwd / "prompt.txt").write_text("Prompt of a file.")
    runs = (["-na"], ["-a"], ["--system-prompt", "prompt.txt", "--append-system-prompt", "Words."])
    prompts = []
    with ScriptedServer(lambda request: openai("Hello.")) as server:
        place.write_models(server.url)
        for words in runs:
            assert place.run("-p", "--model", "stub/m1", *words, "hi").exit == 0
        prompts = [request.body["messages"][0]["content"] for request in server.requests]
    starts = ["Home prompt.\n\nHome addition.", "Project prompt.\n\nHome addition.", "Prompt of a file.\n\nWords."]
    assert [prompt.startswith(start) for prompt, start in zip(prompts, starts, strict=True)] == [True, True, True]


def test_skills_context_files_and_documentation_stand_in_the_prompt(place: Place) -> None:
    (place.cwd / "AGENTS.md").write_text("Rules of the project.")
    (place.agent / "skills" / "demo").mkdir(parents=True)
    (place.agent / "skills" / "demo" / "SKILL.md").write_text("---\nname: demo\ndescription: d\n---\nx\n")
    with ScriptedServer(lambda request: openai("Hello.")) as server:
        place.write_models(server.url)
        place.run("-p", "--model", "stub/m1", "hi")
        place.run("-p", "--model", "stub/m1", "-nc", "-ns", "hi")
    full, bare = (request.body["messages"][0]["content"] for request in server.requests)
    for text in ("Rules of the project.", "<name>demo</name>", str(ROOT / "docs"), str(ROOT / "examples")):
        assert text in full
    for text in ("Rules of the project.", "<name>demo</name>"):
        assert text not in bare


def test_long_cache_retention_is_asked_for_by_a_variable(place: Place) -> None:
    from tests.support.replies import anthropic

    with ScriptedServer(lambda request: anthropic("Hello.")) as server:
        place.write_models(server.url, api="anthropic-messages", baseUrl=server.url)
        done = place.run("-p", "--model", "stub/m1", "hi", env={"PI_CACHE_RETENTION": "long"})
    assert done.exit == 0, done.stderr
    assert '"ttl": "1h"' in json.dumps(server.requests[0].body)


def test_the_start_benchmark_is_refused_without_a_screen(place: Place) -> None:
    done = place.run("-p", "--model", "demo/scripted", "hi", env={"PI_STARTUP_BENCHMARK": "1"})
    assert "PI_STARTUP_BENCHMARK" in one_error(place, done)


# ---- an unexpected error

FAULT = """
import sys
import piolet.cli.start as start
def broken(arguments):
    raise RuntimeError(f"with {arguments.api_key} and env-secret-0123456789")
start._start = broken
from piolet.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def crash(place: Place, *words: str) -> Finished:
    return place.run(
        "-p",
        *words,
        command=(sys.executable, "-c", FAULT),
        env={"MY_TOKEN": "env-secret-0123456789"},
    )


def test_a_crash_is_one_line_and_a_private_report_without_secrets(place: Place) -> None:
    done = crash(place, "--model", "stub/m1", "--api-key", "key-0123456789", "hi")
    report = place.agent / "piolet-crash.log"
    assert done.exit == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(report) in done.stderr
    assert report.stat().st_mode & 0o777 == 0o600
    text = report.read_text()
    assert "RuntimeError" in text
    assert "Traceback" in text
    for secret in ("key-0123456789", "env-secret-0123456789"):
        assert secret not in text + done.stderr


def test_verbose_shows_the_traceback(place: Place) -> None:
    assert "Traceback" in crash(place, "--verbose", "hi").stderr


# ---- a list to choose from


def test_resume_lists_sessions_and_opens_the_chosen_one(place: Place) -> None:
    with ScriptedServer(lambda request: openai("Hello.")) as server:
        place.write_models(server.url)
        for question in ("first question", "second question"):
            place.run("-p", "--model", "stub/m1", question)
        command = [sys.executable, "-m", "piolet", "-p", "--resume", "--model", "stub/m1", "and now"]
        with Terminal(command, cwd=place.cwd, env=place.environment()) as terminal:
            terminal.wait_for("Which session?")
            assert "second question" in terminal.text
            terminal.send("9\r")
            terminal.send("2\r")
            terminal.wait_for("Hello.")
        asked = json.dumps(server.requests[-1].body)
    assert "first question" in asked
    assert "second question" not in asked


def test_resume_without_a_terminal_names_the_other_ways(place: Place) -> None:
    error = one_error(place, place.run("-p", "--resume", "hi"))
    assert "--continue" in error
    assert "--session" in error


def test_the_version_is_not_bare(place: Place) -> None:
    done = place.run("--version")
    assert done.stdout.startswith("piolet ")


def test_a_wheel_of_the_project_is_told_where_its_documentation_is() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert '"docs" = "piolet/docs"' in project
    assert '"examples" = "piolet/examples"' in project
    assert Path(ROOT / "docs").is_dir()


def test_without_a_prompt_it_is_told_that_nothing_is_sent(place: Place) -> None:
    for words in (["-p"], []):
        done = place.run(*words, "--model", "demo/scripted", stdin="")
        assert (done.exit, done.stdout) == (0, "")
        assert done.stderr.startswith("There is no prompt, so nothing is sent: piolet -p")
