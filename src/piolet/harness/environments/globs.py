"""File name patterns as regular expressions over ``/``-separated relative paths.

``*`` and ``?`` do not pass ``/``, ``**`` as a whole part does; ``[a-z]``, ``[!a]``, ``{a,b}``, backslash as in ripgrep.
"""

from __future__ import annotations

import re

from piolet.harness.environments.base import InvalidPattern


def glob_regex(
    glob: str, *, any_depth: bool = False, ignore_case: bool = False, dot_names: bool = True
) -> re.Pattern[str]:
    """Return what a whole path must match; with `any_depth` any folders may stand before it.

    Without `dot_names` a part that begins with a dot is met only by a part that begins with one too. `InvalidPattern`
    for brackets or braces that do not close.
    """
    text = ("(?:.*/)?" if any_depth else "") + _Translator(glob, dot_names).translate()
    return re.compile(text, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


class _Translator:
    def __init__(self, glob: str, dot_names: bool) -> None:
        self._glob = glob
        self._dot_names = dot_names
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
                return f"{self._no_dot(self._position - 1)}[^/]"
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
            return f"{self._no_dot(start)}[^/]*"
        if after == "/":
            self._position += 1
            return "(?:.*/)?" if self._dot_names else r"(?:(?!\.)[^/]+/)*"
        if not self._dot_names:
            return r"(?:(?!\.)[^/]+/)*(?!\.)[^/]" + ("*" if before != "/" else "+")
        return ".*" if before != "/" else ".+"

    def _no_dot(self, start: int) -> str:
        """What keeps a wildcard at the beginning of a part from a dot."""
        return "" if self._dot_names or self._glob[:start][-1:] not in ("", "/", "{", ",") else r"(?!\.)"

    def _class(self) -> str:
        no_dot = self._no_dot(self._position - 1)
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
        return f"{no_dot}(?!/)[{'^' if negated else ''}{''.join(items)}]"

    def _error(self, what: str) -> InvalidPattern:
        return InvalidPattern(f"Invalid glob {self._glob!r}: {what}.")
