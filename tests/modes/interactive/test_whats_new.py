from __future__ import annotations

from piolet.modes.interactive.whats_new import changelog_text, changes_since

CHANGES = "# Changelog\n\nHow it is written.\n\n## [0.3]\n\n- c\n\n## 0.2\n\n- b\n\n## 0.1\n\n- a\n"


def test_what_is_new_is_what_stands_above_the_version_last_seen() -> None:
    assert changes_since(CHANGES, "0.1") == "## [0.3]\n\n- c\n\n## 0.2\n\n- b"
    assert changes_since(CHANGES, "0.3") == ""


def test_everything_is_new_to_who_has_seen_another_version() -> None:
    assert changes_since(CHANGES, "0.0.1").startswith("## [0.3]")
    assert changes_since("no releases", "0.1") == ""


def test_the_lines_of_the_changelog_are_left_to_the_window() -> None:
    lines = changelog_text().splitlines()
    assert lines[0] == "# Changelog"
    assert all(
        line.startswith(("#", "- ", "  - ")) or lines[number - 1] == "" for number, line in enumerate(lines) if line
    )
