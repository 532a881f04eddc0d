"""Globs: ``*``, ``?``, ``[...]``, ``{a,b}``, and ``**`` as a whole part of a path."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise


def is_glob(text: str) -> bool:
    """Whether `text` holds a character that is special in globs."""
    return re.search(r"[*?\[{]", text) is not None


@lru_cache(maxsize=256)
def glob_regex(glob: str) -> re.Pattern[str]:
    """Return a pattern for whole paths that agree with `glob`; a name with a leading dot agrees only with a dot."""
    return re.compile("|".join(_translate(option) for option in _alternatives(glob)), re.DOTALL)


def _alternatives(glob: str) -> list[str]:
    """Expand ``{a,b}``, also nested; without a comma or a closing brace it stands for itself."""
    start = depth = 0
    commas: list[int] = []
    for index, char in enumerate(glob):
        if char == "{":
            if depth == 0:
                start, commas = index, []
            depth += 1
        elif char == "," and depth == 1:
            commas.append(index)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and commas:
                edges = [start, *commas, index]
                head, tail = glob[:start], glob[index + 1 :]
                options = [head + glob[left + 1 : right] + tail for left, right in pairwise(edges)]
                return [expanded for option in options for expanded in _alternatives(option)]
    return [glob]


def _translate(glob: str) -> str:
    parts = glob.split("/")
    regex = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            regex += r"(?!\.)[^/]*(?:/(?!\.)[^/]+)*" if last else r"(?:(?!\.)[^/]+/)*"
        else:
            regex += _translate_part(part) + ("" if last else "/")
    return regex


def _translate_part(part: str) -> str:
    regex = r"(?!\.)" if part[:1] in ("*", "?", "[") else ""
    index = 0
    while index < len(part):
        char = part[index]
        index += 1
        if char == "*":
            regex += "[^/]*"
        elif char == "?":
            regex += "[^/]"
        elif char == "[" and (end := part.find("]", index + 1 + (part[index : index + 1] in ("!", "^")))) > 0:
            inside = part[index:end]
            negated = inside[:1] in ("!", "^")
            letters = inside[negated:].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
            regex += f"[{'^/' if negated else ''}{letters}]"
            index = end + 1
        elif char == "\\" and index < len(part):
            regex += re.escape(part[index])
            index += 1
        else:
            regex += re.escape(char)
    return regex
