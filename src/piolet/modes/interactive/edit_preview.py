"""What an edit will change, shown while somebody still decides whether it may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from piolet.harness.environments.base import Environment
from piolet.harness.tools.edit import prepare_edit_arguments
from piolet.harness.tools.errors import ToolError
from piolet.harness.tools.paths import existing_path


async def edit_preview(environment: Environment, arguments: Mapping[str, Any]) -> str:
    """Return the diff that a call of ``edit`` will make; empty if it will fail."""
    from piolet.harness.tools.edits import apply_edits

    wanted = prepare_edit_arguments(arguments)
    try:
        path, edits = wanted["path"], wanted["edits"]
        data = await environment.read_bytes(await existing_path(environment, path))
        outcome = await asyncio.to_thread(apply_edits, path, data, edits)
    except (ToolError, OSError, KeyError, TypeError, AttributeError):
        return ""
    return outcome.diff.diff
