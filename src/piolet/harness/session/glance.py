"""What the beginning of a line tells of a message, its body unread: for long files, of which little is needed.

It knows lines as pi and this program write them; of any other it tells nothing. Whether the body is sound stays open.
"""

from __future__ import annotations

import re

from piolet.harness.session.storage import Text

_BEGINNING = re.compile(
    rb'\{"type":"message","id":"([!#-\[\]-~]+)","parentId":(?:null|"([!#-\[\]-~]+)"),"timestamp":"[ !#-\[\]-~]*",'
    rb'"message":\{"role":"(user|assistant|toolResult|bashExecution|custom|system)"'
)
_ROLES = {role.encode(): role for role in ("user", "assistant", "toolResult", "bashExecution", "custom", "system")}
_BRACE = ord("}")


def glance(line: Text) -> tuple[str, str | None, str] | None:
    """Return id, parent and role of what seems to be a message; None if only reading the line can tell."""
    found = _BEGINNING.match(line)
    if found is None or line[-1] != _BRACE or line[-2] != _BRACE:
        return None
    id, parent, role = found.groups()
    return str(id, "ascii"), None if parent is None else str(parent, "ascii"), _ROLES[role]
