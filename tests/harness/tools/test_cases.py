"""Every case drawn from real use, in each world that it can be applied in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases.tool_cases import check_in, worlds_of
from tests.support.timing import patiently

CASES = Path(__file__).parents[2] / "data" / "cases"


def every_case() -> Iterator[Any]:
    for area in ("edit", "read", "write", "bash", "search"):
        for case in json.loads((CASES / f"{area}.json").read_text(encoding="utf-8")):
            for world in worlds_of(case):
                yield pytest.param(world, case, id=f"{case['id']}-{world}")


@pytest.mark.parametrize(("world", "case"), list(every_case()))
def test_case(world: str, case: dict[str, Any]) -> None:
    patiently(lambda: check_in(world, case))
