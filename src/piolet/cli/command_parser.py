"""The parser of commands of their own, such as ``piolet sessions``: a mistake is one line and the exit code 1."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, NoReturn

from piolet.modes.say import complain


class CommandParser(ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        complain(f"{message} (see {self.prog} --help)")
        self.exit(1)
