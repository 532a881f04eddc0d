"""What the scripts of ``piolet completion`` complete, in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from piolet.cli.args import OPTIONS
from piolet.cli.completion import SUBCOMMANDS
from piolet.cli.main import COMMANDS
from tests.support.run import Place
from tests.support.terminal import Terminal

START = {
    "bash": (["bash", "--norc", "--noprofile"], "source ../script"),
    "zsh": (["zsh", "-f"], "autoload -Uz compinit; compinit -u -D; source ../script"),
}
#: What is typed before the tab, and the words that the command is then called with.
TYPED = [
    ("--cont", ["--continue"]),
    ("-p --thinking mi", ["-p", "--thinking", "minimal"]),
    ("sess", ["sessions"]),
    ("sessions ver", ["sessions", "verify"]),
    ("auth logi", ["auth", "login"]),
    ("@no", ["@notes.md"]),
    ("-p @a\\ f", ["-p", "@a file.txt"]),
    ("@sub/in", ["@sub/inner.md"]),
    ("@qu", ["@quo'te"]),
    ("--session a\\ f", ["--session", "a file.txt"]),
    ("--append-system-prompt no", ["--append-system-prompt", "notes.md"]),
    ("no", ["notes.md"]),
]


def fill(place: Place, shell: str) -> Path:
    """Make some files, and a ``piolet`` that shows its words; return the file of the script for `shell`."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = place.cwd.parent / "script"
    script.write_text(place.run("completion", shell).stdout)
    for name in ("notes.md", "a file.txt", "quo'te", "sub/inner.md"):
        (place.cwd / name).parent.mkdir(exist_ok=True)
        (place.cwd / name).write_text("")
    program = place.home / "bin" / "piolet"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\nprintf '.\\n'\n")
    program.chmod(0o755)
    return script


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_tab_completes_options_values_commands_and_files(place: Place, shell: str) -> None:
    fill(place, shell)
    argv, start = START[shell]
    env = place.environment() | {"PATH": f"{place.home}/bin:/usr/bin:/bin", "PS1": "ready "}
    with Terminal(argv, cwd=place.cwd, env=env, columns=100, rows=50) as terminal:
        terminal.send(f"{start}; PS1='load''ed '; clear\r")
        terminal.wait_for("loaded")
        for typed, words in TYPED:
            terminal.send(f"piolet {typed}\t\r")
            terminal.wait_for("".join(f"<{word}>" for word in words) + ".")


def test_fish_offers_options_values_commands_and_files(place: Place) -> None:
    script = fill(place, "fish")
    asked = "\n".join(f"complete -C {quoted(f'piolet {typed}')} | head -n 1" for typed, _ in TYPED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}\n{asked}"],
        cwd=place.cwd,
        env=place.environment() | {"PATH": f"{place.home}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    offered = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert offered == [words[-1] for _, words in TYPED]


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_and_command_is_known(place: Place, shell: str) -> None:
    script = place.run("completion", shell).stdout
    for option in OPTIONS:
        assert option.names[-1].lstrip("-") in script
    for command in COMMANDS:
        assert command in script


@pytest.mark.parametrize("command", sorted(SUBCOMMANDS.keys() - {"completion"}))
def test_the_words_after_a_command_are_those_that_it_knows(place: Place, command: str) -> None:
    shown = place.run(command, "--help").stdout.split()
    assert [word for word in SUBCOMMANDS[command].split() if word not in shown] == []


def test_an_unknown_shell_is_an_error(place: Place) -> None:
    asked = place.run("completion", "--help")
    assert (asked.exit, asked.stderr) == (0, "")
    assert asked.stdout.startswith("piolet completion takes bash, zsh, fish")
    done = place.run("completion", "tcsh")
    assert done.exit == 1
    assert "bash, zsh, fish" in done.stderr
