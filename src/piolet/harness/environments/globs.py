"""File name patterns as regular expressions over ``/``-separated relative paths.

``*`` and ``?`` do not pass ``/``, ``**`` as a whole part does; ``[a-z]``, ``[!a]``, ``{a,b}``, backslash as in ripgrep.
"""

from __future__ import annotations

import re

from piolet.harness.environments.base import InvalidPattern


def glob_regex(glob: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Return what a whole path must match. `InvalidPattern` for brackets or braces that do not close."""
    return re.compile(_Translator(glob).translate(), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


class _Translator:
    def __init__(self, glob: str) -> None:
        self._glob = glob
        self._position = 0
        self._braces = 0

    def translate(self) -> str:
        parts = []
        while self._position < len(self._glob):
            parts.append(self._next())
        if self._braces:
            raise self._error("unclosed brace")
        return "".join(parts) + r"\Z"

    def _next(self) -> str:
        character = self._glob[self._position]
        self._position += 1
        match character:
            case "?":
                return "[^/]"
            case "*":
                return self._star()
            case "[":
                return self._class()
            case "{":
                self._braces += 1
                return "(?:"
            case "}":
                self._braces -= 1
                if self._braces < 0:
                    raise self._error("unopened brace")
                return ")"
            case "," if self._braces:
                return "|"
            case "\\":
                if self._position == len(self._glob):
                    raise self._error("nothing behind the backslash")
                self._position += 1
                return re.escape(self._glob[self._position - 1])
            case _:
                return re.escape(character)

    def _star(self) -> str:
        start = self._position - 1
        while self._glob[self._position : self._position + 1] == "*":
            self._position += 1
        before, after = self._glob[:start][-1:], self._glob[self._position : self._position + 1]
        if self._position - start != 2 or before not in ("", "/", "{", ",") or after not in ("", "/", "}", ","):
            return "[^/]*"
        if after == "/":
            self._position += 1
            return "(?:.*/)?"
        return ".*" if before != "/" else ".+"

    def _class(self) -> str:
        negated = self._glob[self._position : self._position + 1] in ("!", "^")
        start = self._position + negated
        end = self._glob.find("]", start + 1)
        if end < 0:
            raise self._error("unclosed bracket")
        self._position = end + 1
        items, content = [], self._glob[start:end]
        index = 0
        while index < len(content):
            low = high = content[index]
            if content[index + 1 : index + 2] == "-" and index + 2 < len(content):
                high = content[index + 2]
                index += 2
            if high < low:
                raise self._error(f"invalid range {low}-{high}")
            items.append(re.escape(low) if low == high else f"{re.escape(low)}-{re.escape(high)}")
            index += 1
        return f"(?!/)[{'^' if negated else ''}{''.join(items)}]"

    def _error(self, what: str) -> InvalidPattern:
        return InvalidPattern(f"Invalid glob {self._glob!r}: {what}.")
