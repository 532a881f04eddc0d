"""Front matter and body."""

from __future__ import annotations

from typing import Any

from piolet.base.frontmatter import parse_frontmatter
from tests.conformance.resources.world import expect


def parse(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any]:
        value, body = parse_frontmatter(case["in"]["text"])
        return {"frontmatter": value, "body": body}

    expect(case, found)


OPS = {"parse_frontmatter": parse}
