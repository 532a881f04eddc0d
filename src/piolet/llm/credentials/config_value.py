"""Values in configuration files that may stand for something else: ``$NAME``, ``${NAME}``, ``!command``.

``$$`` is ``$`` and ``$!`` is ``!``. Sources: providers, section 11; resources, section 13.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterable, Mapping

from msgspec import Struct

COMMAND_TIMEOUT = 10.0

_reference = re.compile(r"\$(?:([$!])|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class ConfigValue(Struct, frozen=True):
    """A value as it is written, taken apart: a command, or text with references to variables."""

    text: str

    @property
    def command(self) -> str | None:
        """The shell command that gives the value, None if the value is text."""
        return self.text[1:] if self.text.startswith("!") else None

    @property
    def env_names(self) -> list[str]:
        """The variables that the text refers to, in order."""
        if self.command is not None:
            return []
        return [match[2] or match[3] for match in _reference.finditer(self.text) if not match[1]]

    def missing(self, env: Mapping[str, str]) -> list[str]:
        """The variables that the text needs and that `env` lacks; an empty one is as good as none."""
        return [name for name in self.env_names if not env.get(name)]


class NoValue(Exception):
    """A text stands for nothing; the message says why, in words that go on after a colon."""


def find_config_value(text: str, env: Mapping[str, str], running: set[int]) -> str:
    """Return what `text` stands for; `NoValue` says why it stands for nothing.

    Blocks while a command runs, at most `COMMAND_TIMEOUT` seconds; its process group is in `running` meanwhile, so that
    another thread can `kill` it.
    """
    value = ConfigValue(text)
    if value.command is not None:
        return _output(value.command, env, running)
    if missing := value.missing(env):
        raise NoValue(f"{missing[0]} is not set")
    return _reference.sub(lambda match: match[1] or env[match[2] or match[3]], text)


def kill(groups: Iterable[int]) -> None:
    """End the process groups of commands."""
    for group in list(groups):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def escape(text: str) -> str:
    """Return the configuration value that stands for `text` itself."""
    text = text.replace("$", "$$")
    return f"${text}" if text.startswith("!") else text


def _output(command: str, env: Mapping[str, str], running: set[int]) -> str:
    import subprocess

    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    running.add(process.pid)
    try:
        output, _ = process.communicate(timeout=COMMAND_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise NoValue(f"its command has not ended within {COMMAND_TIMEOUT:g} s") from None
    finally:
        running.discard(process.pid)
        if process.returncode is None:
            kill([process.pid])
            process.communicate()
    text = output.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        raise NoValue(f"its command ended with status {process.returncode}")
    if not text:
        raise NoValue("its command printed nothing")
    return text
