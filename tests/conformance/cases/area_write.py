"""Cases of the area write: see `tool_cases`."""

from __future__ import annotations

from tests.conformance.cases.tool_cases import check_case as check_case
