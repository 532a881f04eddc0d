"""Versions 1 and 2 become version 3."""

from __future__ import annotations

from typing import Any

from piolet.harness.session.migration import migrate
from tests.conformance.sessions.group_open import open_file
from tests.conformance.sessions.vectors import Matcher, expand


def migrate_entries(vector: dict[str, Any]) -> None:
    entries = [dict(entry) for entry in migrate(expand(vector["input"]["entries"]))]
    Matcher().match(entries, vector["expected"]["entries"])


OPS = {"migrate": migrate_entries, "open": open_file}
