"""The code on the page about the SDK runs."""

from __future__ import annotations

import re

from tests.support.run import ROOT

PAGE = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")


def test_the_python_blocks_run() -> None:
    for block in re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL):
        exec(compile(block, "docs/sdk.md", "exec"), {})


def test_every_example_that_is_named_exists() -> None:
    named = set(re.findall(r"`(?:examples/sdk/)?(\w+\.(?:py|ipynb))`", PAGE))
    assert named <= {path.name for path in (ROOT / "examples" / "sdk").iterdir()}
    assert len(named) >= 8
