"""The macros and placeholders of session vectors (their README), and which file of a pair is the target."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

#: What 1.6 writes otherwise, but is no target: when the file is made, and stored system messages.
_NO_TARGET = ("linesOnDisk", "systemMessage")
_FORMS = {
    "uuidv7": r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "iso-ms-z": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "iso-dashed": r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z",
}
_PLACEHOLDER = re.compile(r"<(id:\d+|uuidv7|iso-ms-z|iso-dashed|DIR|PROCESS_CWD)>")


def is_target(path: Path, vector: dict[str, Any]) -> bool:
    """Whether the vector in `path` is one to reach, of a pair ``case.json`` and ``case.old.json``."""
    old = path.name.endswith(".old.json")
    other = path.with_name(path.name.replace(".old.json", ".json") if old else f"{path.stem}.old.json")
    if not other.exists():
        return True
    return old == (_plain(vector) == _plain(json.loads(other.read_text(encoding="utf-8"))))


def _plain(vector: dict[str, Any]) -> Any:
    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in _NO_TARGET}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return strip([vector["input"], vector["expected"]])


def expand(value: Any) -> Any:
    """Return `value` with its macros expanded, also nested ones."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$repeat" in value:
        text, times = value["$repeat"]
        return text * times
    if "$lines" in value:
        lines = [item if isinstance(item, str) else to_json(item) for item in expand(value["$lines"])]
        return "".join(f"{line}\n" for line in lines)
    return {key: expand(item) for key, item in value.items()}


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def file_bytes(given: dict[str, Any]) -> bytes:
    """Return the bytes of the file that an input with ``jsonl`` or ``jsonl_base64`` describes."""
    if "jsonl_base64" in given:
        return base64.b64decode(given["jsonl_base64"])
    return str(expand(given["jsonl"])).encode("utf-8", "surrogatepass")


class Matcher:
    """Compares results with expectations that hold placeholders; an id number means the same id everywhere."""

    def __init__(self, **places: str) -> None:
        self._places = places
        self._ids: dict[str, str] = {}

    def match(self, actual: Any, expected: Any, where: str = "") -> None:
        """Raise with the first place where `actual` is not as `expected`."""
        if isinstance(expected, dict) and "$long" in expected:
            self._match_long(actual, expected["$long"], where)
        elif isinstance(expected, dict):
            assert isinstance(actual, dict), f"{where}: {actual!r}, expected an object"
            assert actual.keys() == expected.keys(), f"{where}: keys {sorted(actual)}, expected {sorted(expected)}"
            for key, item in expected.items():
                self.match(actual[key], item, f"{where}.{key}")
        elif isinstance(expected, list):
            assert isinstance(actual, list), f"{where}: {actual!r}, expected a list"
            for place, (one, other) in enumerate(zip(actual, expected, strict=False)):
                self.match(one, other, f"{where}[{place}]")
            assert len(actual) == len(expected), f"{where}: {len(actual)} items, expected {len(expected)}"
        elif expected == "<ms>":
            assert isinstance(actual, int), f"{where}: {actual!r} is no time"
            assert actual > 1_600_000_000_000, f"{where}: {actual} is no time of today"
        elif isinstance(expected, str) and _PLACEHOLDER.search(expected):
            self._match_text(actual, expected, where)
        else:
            same = actual == expected and isinstance(actual, bool) == isinstance(expected, bool)
            assert same, f"{where}: {actual!r}, expected {expected!r}"

    def _match_text(self, actual: Any, expected: str, where: str) -> None:
        numbers = []
        pattern = ""
        for place, part in enumerate(_PLACEHOLDER.split(expected)):
            if place % 2 == 0:
                pattern += re.escape(part)
            elif part.startswith("id:"):
                numbers.append(part)
                pattern += "([0-9a-f]{8})"
            else:
                pattern += _FORMS[part] if part in _FORMS else re.escape(self._places[part])
        found = re.fullmatch(pattern, actual) if isinstance(actual, str) else None
        assert found is not None, f"{where}: {actual!r}, expected {expected!r}"
        for number, id in zip(numbers, found.groups(), strict=True):
            known = self._ids.setdefault(number, id)
            assert known == id, f"{where}: {id!r}, but {number} is {known!r}"
        assert len(set(self._ids.values())) == len(self._ids), f"{where}: the same id twice"

    def _match_long(self, actual: Any, expected: dict[str, Any], where: str) -> None:
        assert isinstance(actual, str), f"{where}: {actual!r}, expected a long text"
        units = len(actual.encode("utf-16-le", "surrogatepass")) // 2
        digest = hashlib.sha256(re.sub("[\ud800-\udfff]", "\ufffd", actual).encode()).hexdigest()
        assert units == expected["chars"], f"{where}: {units} UTF-16 units, expected {expected['chars']}"
        assert digest == expected["sha256"], f"{where}: a text of the right length with other content"
