"""Cases about the terminal that need the whole program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.outcome import Skip
from tests.modes.interactive import endurance
from tests.support.run import Place

FLOOD = "head -c 2000000 /dev/zero | tr '\\0' x"
INTERRUPT = "while an answer streams: type draft, Ctrl+C"


def check_program(case: Mapping[str, Any]) -> None:
    """Run the program as `case` says. Raises `Skip` for what is not known here."""
    given, setup = case["input"], case["setup"]
    run = str(given.get("run", ""))
    if "signals" in given:
        for name in given["signals"]:
            if name == "exception in the interface":
                _run(endurance.check_fault)
            else:
                _run(endurance.check_signals, name)
    elif "sizes" in given:
        _run(endurance.check_resizes, [tuple(size) for size in given["sizes"]])
    elif "bytes_with_pauses" in given:
        _run(endurance.check_pieces, [bytes.fromhex(piece) for piece in given["bytes_with_pauses"]])
    elif "paste_lines" in setup:
        _run(endurance.check_large_paste, setup["paste_lines"], 3)
    elif str(setup.get("pty", "")).startswith("closed"):
        _run(endurance.check_gone, 5)
    elif run.startswith(INTERRUPT):
        _run(endurance.check_interrupt_key)
    elif run == "tool prints it":
        _run(endurance.check_flood, FLOOD, 1.5)
    else:
        raise Skip(f"nothing here runs {case['title']!r}")


def _run(check: Callable[..., object], *arguments: object) -> None:
    """Make a check in a home and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="piolet-case-") as folder:
        check(Place.below(Path(folder)), *arguments)
