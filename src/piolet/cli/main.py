"""The command ``piolet``: what the first words decide, before anything heavy is imported."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

#: First words that are commands of their own: the module that takes the rest.
COMMANDS = {
    "auth": "piolet.cli.auth",
    "sessions": "piolet.cli.sessions",
    "completion": "piolet.cli.completion",
    "usage": "piolet.cli.usage",
    "install": "piolet.cli.packages",
    "remove": "piolet.cli.packages",
    "uninstall": "piolet.cli.packages",
    "update": "piolet.cli.packages",
    "list": "piolet.cli.packages",
    "config": "piolet.cli.packages",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    gc.disable()  # start-up makes little garbage; the mode turns it on again
    _open_standard_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    verbose = "--verbose" in words
    try:
        return _flushed(_version() if words in (["--version"], ["-v"]) else _run(words))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _silence(1)
        return 1
    except Exception as error:
        from piolet.cli.crash import report_crash

        return report_crash(error, verbose=verbose)
    finally:
        gc.freeze()  # at its end the interpreter collects twice: a fifth of a short run, for memory that goes anyway


def _open_standard_streams() -> None:
    """Open those that are closed on the null device: the next file that is opened would take the place of one."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            _silence(number)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _silence(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null == number:
        os.set_inheritable(null, True)
    else:
        os.dup2(null, number)
        os.close(null)


def _flushed(code: int) -> int:
    """Write what standard output still holds, as long as a failure can be told; return the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from piolet.modes.say import complain

        _silence(1)
        complain(f"Standard output cannot be written: {error.strerror}")
        return 1
    return code


def _run(words: list[str]) -> int:
    if "--offline" in words or os.environ.get("PI_OFFLINE", "").lower() in ("1", "true", "yes"):
        os.environ["PI_OFFLINE"] = os.environ["PI_SKIP_VERSION_CHECK"] = "1"
    os.environ["PI_CODING_AGENT"], os.environ["AI_AGENT"] = "true", "piolet"
    if (fault := _useless_folder()) is not None:
        from piolet.modes.say import complain

        complain(fault)
        return 1
    if words and words[0] in COMMANDS:
        return _command(words)
    if words and (mistake := _mistyped(words[0])):
        from piolet.modes.say import complain

        complain(mistake)
        return 1
    from piolet.cli.args import parse_arguments
    from piolet.modes.say import complain, warn

    arguments = parse_arguments(words)
    for warning in arguments.warnings:
        warn(warning)
    for error in arguments.errors:
        complain(error)
    if arguments.errors:
        return 1
    if arguments.version:
        return _version()
    from piolet.cli.start import start

    return start(arguments)


def _useless_folder() -> str | None:
    """Return why nothing can be done with the folders that this process has been given, if that is so."""
    try:
        os.stat(os.path.join(os.getcwd(), "."))
    except OSError as error:
        return f"The working directory cannot be used ({error.strerror}): go to another one"
    return "There is no home directory: set HOME" if os.path.expanduser("~") == "~" else None


def _command(words: list[str]) -> int:
    import importlib

    return int(importlib.import_module(COMMANDS[words[0]]).main(words))


def _mistyped(word: str) -> str | None:
    """Return an error if the first word is much like a command but none; a prompt is seldom a single such word."""
    if word == "mcp":
        return "piolet mcp is not in this version. As a prompt: piolet -- mcp"
    if not word.isalpha() or not word.islower():
        return None
    from piolet.base.likeness import did_you_mean

    question = did_you_mean(word, COMMANDS, likeness=0.8)
    return f'There is no command "{word}".{question} As a prompt: piolet -- {word}' if question else None


def _version() -> int:
    from piolet._version import __version__

    print(f"piolet {__version__}")
    return 0
