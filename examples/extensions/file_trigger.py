"""Watches a file: what another program writes into it is sent to the model.

piolet -e examples/extensions/file_trigger.py --trigger-file /tmp/piolet-trigger
echo "The build failed, look at build.log" > /tmp/piolet-trigger
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from piolet.ext import CustomMessageDraft, ExtensionAPI, ExtensionContext, SessionStart

#: Seconds between two looks.
PAUSE = 0.2


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("trigger-file", type="string", description="file whose content is sent to the model")

    @pi.on("session_start")
    def start(event: SessionStart, ctx: ExtensionContext) -> None:
        path = pi.get_flag("trigger-file")
        if isinstance(path, str):
            pi.spawn(watch(Path(ctx.cwd, path)), name="file-trigger")

    async def watch(path: Path) -> None:
        while True:
            words = await asyncio.to_thread(take, path)
            if words:
                draft = CustomMessageDraft("file-trigger", f"{path.name} says: {words}")
                pi.send_message(draft, trigger_turn=True)
            await asyncio.sleep(PAUSE)


def take(path: Path) -> str:
    """Return what is in the file, and empty it."""
    try:
        words = path.read_text(encoding="utf-8").strip()
        if words:
            path.write_text("", encoding="utf-8")
    except OSError:
        return ""
    return words
