"""What a terminal can be told of a program: the Program Status Protocol (OSC 7501). Pure."""

from __future__ import annotations

import base64
from typing import Literal, TypeAlias

from piolet.tui.text import one_line

State: TypeAlias = Literal["idle", "working", "blocked", "done", "error"]
#: What somebody is asked for while a program is blocked.
BlockedKind: TypeAlias = Literal["permission", "question"]

#: Asks whether the terminal wants to know; one that does answers with the same.
STATUS_QUERY = "\x1b]7501;?\x1b\\"
CLEAR_STATUS = "\x1b]7501;state=clear\x1b\\"

_APP = "piolet"
_LIMIT = 2048  # bytes of a message; a terminal discards what is longer


def is_status_reply(reply: str) -> bool:
    """Whether this is the answer to `STATUS_QUERY`."""
    return reply in (STATUS_QUERY, "\x1b]7501;?\x07")


def status_report(state: State, message: str = "", kind: BlockedKind | None = None) -> str:
    """Return the sequence that tells the terminal what the program does; it replaces the one before. What is no plain
    text in `message` is left out; `kind` goes with ``blocked`` only."""
    pairs = [f"state={state}", f"app={_APP}"]
    if kind is not None:
        pairs.append(f"kind={kind}")
    if text := one_line(message).encode("utf-8", "replace")[:_LIMIT].decode("utf-8", "ignore"):
        pairs.append(f"msg={base64.b64encode(text.encode()).decode()}")
    return f"\x1b]7501;{':'.join(pairs)}\x1b\\"
