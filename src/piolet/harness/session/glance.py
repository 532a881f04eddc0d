"""What the beginning of a line tells of a message, its body unread: for long files, of which little is needed.

It knows lines as pi and this program write them; of any other it tells nothing. Whether the body is sound stays open.
"""

from __future__ import annotations

import re

from piolet.harness.session.storage import Text

_PRINTED = r"[^\x00-\x1f\x7f-\xff\"\\]"  # a negated class is matched in half the time
_BEGINNING = re.compile(
    rf'{{"type":"message","id":"({_PRINTED}+)","parentId":(?:null|"({_PRINTED}+)"),"timestamp":"{_PRINTED}*",'
    r'"message":{"role":"(user|assistant|toolResult|bashExecution|custom|system)"'
)
_BEGINNING_BYTES = 300  # more than pi's ids and times need
_ROLES = {role: role for role in ("user", "assistant", "toolResult", "bashExecution", "custom", "system")}
_BRACE = ord("}")


def glance(line: Text) -> tuple[str, str | None, str] | None:
    """Return id, parent and role of what seems to be a message; None if only reading the line can tell."""
    found = _BEGINNING.match(str(line[:_BEGINNING_BYTES], "latin-1"))
    if found is None or line[-1] != _BRACE or line[-2] != _BRACE:
        return None
    id, parent, role = found.groups()
    return id, parent, _ROLES[role]
