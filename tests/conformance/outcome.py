"""What applying one vector gave."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.support.timing import patiently


class Skip(Exception):
    """Raised by a check that cannot be made here; the text says why."""


@dataclass(frozen=True)
class Outcome:
    name: str
    status: Literal["passed", "failed", "skipped"]
    why: str = ""


def attempt(name: str, check: Callable[[], object]) -> Outcome:
    """Run `check`: it passes by returning, fails by raising, and skips by raising `Skip`."""
    try:
        patiently(check)
    except Skip as skip:
        return Outcome(name, "skipped", str(skip))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split()) or type(error).__name__
        return Outcome(name, "failed", f"{type(error).__name__}: {text[:600]} ({where.name}:{where.lineno})")
    return Outcome(name, "passed")


def equal(actual: object, expected: object, where: str = "") -> None:
    """Raise with the first place where two JSON values differ (1 and 1.0 are the same, key order does not matter)."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected.keys() | actual.keys():
            assert key in actual, f"{where}.{key}: missing, expected {expected[key]!r}"
            assert key in expected, f"{where}.{key}: unexpected {actual[key]!r}"
            equal(actual[key], expected[key], f"{where}.{key}")
        return
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (one, other) in enumerate(zip(actual, expected, strict=False)):
            equal(one, other, f"{where}[{index}]")
        assert len(actual) == len(expected), f"{where}: {len(actual)} items, expected {len(expected)}"
        return
    same = actual == expected and isinstance(actual, bool) == isinstance(expected, bool)
    assert same, f"{where}: {actual!r}, expected {expected!r}"
