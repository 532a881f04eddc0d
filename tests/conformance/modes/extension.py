"""The extension of a recorded scenario written anew: its listed steps as Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

HEAD = """\
import json


def extension(pi):
    @pi.command({command!r})
    async def run(args, ctx):
        ui, none, r = ctx.ui, None, {{}}
"""
NAMES = {
    "setStatus": "set_status",
    "setWidget": "set_widget",
    "setTitle": "set_title",
    "setEditorText": "set_editor_text",
}
MODE_LINE = "json.dumps([ctx.mode, ctx.has_ui, ui.get_editor_text(), len(ui.get_all_themes())], separators=(',', ':'))"
RESULTS_LINE = "json.dumps(list(r.values()), separators=(',', ':'))"


def written_anew(extension: Mapping[str, Any]) -> str:
    """Return the code of an extension with the command and the steps that the scenario lists."""
    return HEAD.format(command=extension["command"]) + "".join(
        f"        {line}\n" for line in _lines(extension["steps"])
    )


def _lines(steps: Sequence[str]) -> Sequence[str]:
    return [_line(step) for step in steps]


def _line(step: str) -> str:
    if step.startswith("notify(JSON of [r"):
        return f"ui.notify({RESULTS_LINE}, 'info')"
    if step.startswith("notify(JSON of [mode"):
        return f"ui.notify({MODE_LINE}, 'info')"
    result = re.match(r"(r\d+)=", step)
    call = step[result.end() :] if result else step
    name, _, rest = call.partition("(")
    rest = rest.replace("'hello ARGS'", "'hello ' + args").replace("belowEditor", "placement='below_editor'")
    rest = re.sub(r"timeout=(\d+)", lambda match: f"timeout={int(match[1]) / 1000}", rest)
    call = f"ui.{NAMES.get(name, name)}({rest}"
    return f"r[{result[1]!r}] = await {call}" if result else call
