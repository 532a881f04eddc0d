"""``--help``: the options of the program, and those of the extensions that it would load."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from piolet.app.options import RuntimeOptions
from piolet.cli.args import OPTIONS
from piolet.cli.extensions import with_extensions
from piolet.modes.say import warn


def show_help(options: RuntimeOptions) -> int:
    """Print the help; return the exit code."""
    print(help_text(asyncio.run(_flags(options))))
    return 0


async def _flags(options: RuntimeOptions) -> list[tuple[str, str]]:
    """Return the options of extensions with their descriptions. What is wrong with extensions is a warning."""
    from piolet.app.settings import SettingsError
    from piolet.app.trust import TrustError

    try:
        async with with_extensions(options) as runtime:
            flags = runtime.extensions.flags.values()
            return [(flag.name + (" TEXT" if flag.type == "string" else ""), flag.description) for flag in flags]
    except (SettingsError, TrustError) as error:
        warn(str(error))
        return []


def help_text(flags: Iterable[tuple[str, str]] = ()) -> str:
    """Return the text of ``--help``; `flags` are those of extensions: name and description."""
    rows = [
        (", ".join(option.names) + (f" {option.metavar}" if option.metavar else ""), option.help) for option in OPTIONS
    ]
    width = max(len(left) for left, _ in rows)
    lines = [f"  {left.ljust(width)}  {right}" for left, right in rows]
    if flags:
        lines += ["", "Options of extensions:", *(f"  {f'--{name}'.ljust(width)}  {text}" for name, text in flags)]
    return "\n".join([_USAGE, "", "Options:", *lines, "", _COMMANDS])


_USAGE = """\
Usage: piolet [options] [--] [@files...] [messages...]

A coding agent for the terminal. Without options it opens the interactive mode in this folder."""

_COMMANDS = """\
Commands:
  piolet sessions ...                  list, search, show, open, export, repair sessions
  piolet usage                         tokens and cost by day, project and model
  piolet auth ...                      log in and out, see where credentials come from
  piolet install|remove|update|list    packages of extensions, skills, prompt templates and themes
  piolet config                        switch single extensions, skills and so on off and on
  piolet completion bash|zsh|fish      a script for the shell that completes options and commands

Examples:
  piolet "What does this project do?"
  piolet -p "Fix the failing test" @tests/test_app.py
  git diff | piolet -p "Review this change"
  piolet -c -p "Go on"
  piolet -p --model demo/scripted "Look around"      (needs no model at all)"""
