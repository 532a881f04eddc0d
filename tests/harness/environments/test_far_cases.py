"""Every case of the tools drawn from real use holds on far sides too: ssh, sandbox, container, any shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases.tool_cases import check_in
from tests.support.far import NAMES, FarPlaces, NotHere

CASES = Path(__file__).parents[2] / "data" / "cases"
AREAS = ("edit", "read", "write", "bash", "search")
#: Where some areas are enough: the others are the same as elsewhere.
ONLY = {"busybox": AREAS[:3], "ssh-without-ripgrep": ("search",)}


def every_case() -> Iterator[Any]:
    for name in NAMES:
        for area in ONLY.get(name, AREAS):
            for case in json.loads((CASES / f"{area}.json").read_text(encoding="utf-8")):
                yield pytest.param(name, case, id=f"{case['id']}-{name}")


@pytest.mark.parametrize(("name", "case"), list(every_case()))
def test_case(name: str, case: dict[str, Any], far: FarPlaces) -> None:
    try:
        check_in(name, case, far)
    except NotHere as reason:
        pytest.skip(str(reason))
