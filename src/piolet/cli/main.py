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
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--version"], ["-v"]):
        return _version()
    verbose = "--verbose" in words
    try:
        return _run(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        from piolet.cli.crash import report_crash

        return report_crash(error, verbose=verbose)


def _run(words: list[str]) -> int:
    if "--offline" in words or os.environ.get("PI_OFFLINE", "").lower() in ("1", "true", "yes"):
        os.environ["PI_OFFLINE"] = os.environ["PI_SKIP_VERSION_CHECK"] = "1"
    os.environ["PI_CODING_AGENT"], os.environ["AI_AGENT"] = "true", "piolet"
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


def _command(words: list[str]) -> int:
    import importlib

    return int(importlib.import_module(COMMANDS[words[0]]).main(words))


def _mistyped(word: str) -> str | None:
    """Return an error if the first word is much like a command but none; a prompt is seldom a single such word."""
    if not word.isalpha() or not word.islower():
        return None
    from piolet.cli.suggestions import did_you_mean

    question = did_you_mean(word, COMMANDS, likeness=0.8)
    return f'There is no command "{word}".{question} As a prompt: piolet -- {word}' if question else None


def _version() -> int:
    from piolet._version import __version__

    print(f"piolet {__version__}")
    return 0
