"""Arguments, placeholders, whole-input expansion of prompt templates."""

from __future__ import annotations

from typing import Any

from piolet.harness.prompt.templates import PromptTemplate, expand_template, fill, split_arguments
from tests.conformance.resources.world import expect


def parse(case: dict[str, Any], shared: dict[str, Any]) -> None:
    expect(case, lambda: split_arguments(case["in"]["text"]))


def substitute(case: dict[str, Any], shared: dict[str, Any]) -> None:
    expect(case, lambda: fill(case["in"]["content"], case["in"]["args"]))


def expand(case: dict[str, Any], shared: dict[str, Any]) -> None:
    templates = [PromptTemplate(given["name"], "", given["content"]) for given in case["in"]["templates"]]
    expect(case, lambda: expand_template(case["in"]["text"], templates))


OPS = {"parse_args": parse, "substitute": substitute, "expand": expand}
