"""Diffs of replacements (tools specification, section 4)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from piolet.harness.tools.text_file import Replacement
from piolet.harness.tools.textdiff import TextDiff, text_diff


def numbered(count: int) -> str:
    return "".join(f"l{number}\n" for number in range(1, count + 1))


def diff_of(text: str, *changes: tuple[str, str]) -> TextDiff:
    places = [Replacement(text.index(old), text.index(old) + len(old), new) for old, new in changes]
    return text_diff("f", text, places)


def test_numbers_are_as_wide_as_the_largest_of_the_file() -> None:
    assert diff_of(numbered(1000), ("l5\n", "X\n")).diff == (
        "    1 l1\n    2 l2\n    3 l3\n    4 l4\n-   5 l5\n+   5 X\n    6 l6\n    7 l7\n    8 l8\n    9 l9\n      ..."
    )
    assert diff_of(numbered(9), ("l5\n", "X\n")).diff.startswith("  1 l1\n")


def test_what_is_skipped_is_marked() -> None:
    diff = diff_of(numbered(30), ("l10\n", "X\n"), ("l20\n", "Y\n"))
    assert diff.diff.split("\n")[:2] == ["    ...", "  6 l6"]
    assert [line for line in diff.diff.split("\n") if line.strip() == "..."] == ["    ..."] * 3
    assert diff.patch.count("@@ -") == 2
    assert diff_of(numbered(30), ("l10\n", "X\n"), ("l19\n", "Y\n")).patch.count("@@ -") == 1


def test_kept_and_removed_lines_have_old_numbers_and_added_ones_new() -> None:
    diff = diff_of(numbered(9), ("l2\n", "A\nB\n"), ("l8\n", "C\n"))
    assert diff.diff == ("  1 l1\n- 2 l2\n+ 2 A\n+ 3 B\n  3 l3\n  4 l4\n  5 l5\n  6 l6\n  7 l7\n- 8 l8\n+ 9 C\n  9 l9")
    assert diff.first_changed_line == 2


def test_neighbouring_changes_are_one() -> None:
    assert diff_of("a\nb\n", ("a", "x"), ("b", "y")).diff == "-1 a\n-2 b\n+1 x\n+2 y"


def test_a_missing_line_feed_at_the_end_is_told() -> None:
    assert diff_of("a\nb", ("b", "c\n")).patch == (
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )


def test_a_file_that_becomes_empty() -> None:
    diff = diff_of("a\n", ("a\n", ""))
    assert (diff.patch, diff.diff) == ("--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n", "-1 a")


texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "x"]), max_size=25).map("".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(texts, st.data())
def test_a_patch_applied_gives_the_new_text(tmp_path: Path, text: str, data: st.DataObject) -> None:
    bounds = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True)))
    new_texts = st.sampled_from(["", "N", "N\n", "a\n", "\nN\nb"])
    places = [Replacement(*pair, data.draw(new_texts)) for pair in zip(bounds[::2], bounds[1::2], strict=False)]
    parts, position = [], 0
    for place in places:
        parts += [text[position : place.start], place.text]
        position = place.end
    new = "".join([*parts, text[position:]])
    if new == text:
        return
    file = tmp_path / "f"
    file.write_text(text, newline="")
    diff = text_diff("f", text, places)
    subprocess.run(["patch", "-s", "-p0", "f"], input=diff.patch.encode(), cwd=tmp_path, check=True)
    assert (file.read_text() if file.exists() else "") == new
    first = next(
        i
        for i, (old, now) in enumerate(zip((text + "\0").split("\n"), (new + "\1").split("\n"), strict=False), 1)
        if old != now
    )
    assert diff.first_changed_line <= first


def test_a_very_long_line_is_cut() -> None:
    diff = diff_of("x" * 50_000 + "\nb\n", ("b", "c"))
    assert diff.diff == f" 1 {'x' * 10_000}... [40000 more characters]\n-2 b\n+2 c"
    assert len(diff.patch) < 11_000
