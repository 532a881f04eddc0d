"""Split a Markdown text into YAML front matter and body. YAML 1.2, core schema: ``yes`` is a word, ``0o10`` is eight.

Source of the rules: the resources specification, section 6.
"""

from __future__ import annotations

import re
from typing import Any

from piolet.base.regex import compiled_later

MAX_DEPTH = 100


class FrontmatterError(ValueError):
    """The front matter is no valid YAML; the text says where and why."""


def split_frontmatter(text: str) -> tuple[str | None, str]:
    """Return the YAML text of the front matter and the body; (None, `text`) without front matter.

    A byte order mark is dropped and line ends become LF; a body behind front matter is trimmed.
    """
    text = re.sub("\r\n?", "\n", text.removeprefix("\ufeff"))
    end = text.find("\n---", 3) if text.startswith("---") else -1
    if end < 0:
        return None, text
    return text[4:end], text[end + 4 :].strip()


def parse_frontmatter(text: str) -> tuple[Any, str]:
    """Return the front matter's value (``{}`` if it is empty or not there) and the body. Raises `FrontmatterError`.

    The value is any that YAML can give: usually a dict, but a lone word or a list is possible.
    """
    yaml, body = split_frontmatter(text)
    return ({} if yaml is None else _load(yaml)), body


def parse_fields(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter of `text` as a mapping (empty if it is none), and what follows it."""
    value, body = parse_frontmatter(text)
    return (value if isinstance(value, dict) else {}), body


# ------------------------------------------------------------------------------------------------------ YAML's subset

_NULL = compiled_later(r"~|null|Null|NULL|")
_BOOL = compiled_later(r"(true|True|TRUE)|false|False|FALSE")
_INT = compiled_later(r"[-+]?[0-9]+")
_RADIX_INT = compiled_later(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = compiled_later(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = compiled_later(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# ``key: value`` with a value that needs no YAML parser: plain and harmless, or quoted without escapes.
_EASY_LINE = compiled_later(r"([A-Za-z][A-Za-z0-9_-]*): +(?:\"([ -~]*)\"|'([ -~]*)'|([A-Za-z0-9_./(][ -~]*?)) *")
_TAB_AS_INDENTATION = compiled_later(r"^ *\t", re.MULTILINE)
_HARD_PLAIN = compiled_later(r": | #|:\Z")


def _load(yaml: str) -> Any:
    """Return the value of a YAML document. Most front matter is plain lines; the parser costs 0.2 s to import."""
    easy = _load_easy(yaml)
    if easy is not None:
        return easy
    try:
        return _load_any(yaml)
    except FrontmatterError:
        if "\t" not in yaml or _TAB_AS_INDENTATION.search(yaml):
            raise
        return _load_any(yaml.replace("\t", " "))  # allowed between words, which the parser does not know


def _load_easy(yaml: str) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    for line in yaml.split("\n"):
        match = _EASY_LINE.fullmatch(line)
        if match is None or match[1] in fields:
            return None
        key, double, single, plain = match.groups()
        if plain is not None:
            if _HARD_PLAIN.search(plain):
                return None
            fields[key] = _plain_value(plain)
        elif '"' in (double or "") or "\\" in (double or "") or "'" in (single or ""):
            return None
        else:
            fields[key] = double if single is None else single
    return fields


def _load_any(yaml: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = _Composer(YAML(typ="safe", pure=True).parse(yaml + "\n")).document()
    except (YAMLError, FrontmatterError, RecursionError) as error:
        raise FrontmatterError(f"the front matter is no valid YAML: {' '.join(str(error).split())}") from None
    return {} if value is None else value


class _Composer:
    """Builds values from the parser's events, by the core schema: no merge keys, no dates, tags mean nothing."""

    def __init__(self, events: Any) -> None:
        self._events = iter(events)
        self._depth = 0
        self._anchors: dict[str, Any] = {}

    def document(self) -> Any:
        from ruamel.yaml.events import DocumentEndEvent, DocumentStartEvent, StreamEndEvent, StreamStartEvent

        value = None
        documents = 0
        for event in self._events:
            match event:
                case StreamStartEvent() | StreamEndEvent() | DocumentEndEvent():
                    continue
                case DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        raise FrontmatterError("it holds more than one document")
                case _:
                    value = self._value(event)
        return value

    def _value(self, event: Any) -> Any:
        from ruamel.yaml.events import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

        match event:
            case AliasEvent(anchor=anchor):
                if anchor not in self._anchors:
                    raise FrontmatterError(f"the alias *{anchor} has no anchor before it")
                return self._anchors[anchor]
            case ScalarEvent():
                value = _plain_value(event.value) if event.style is None and event.implicit[0] else event.value
            case SequenceStartEvent() | MappingStartEvent():
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise FrontmatterError(f"it is nested more than {MAX_DEPTH} levels deep")
                value = self._sequence() if isinstance(event, SequenceStartEvent) else self._mapping()
                self._depth -= 1
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _sequence(self) -> list[Any]:
        from ruamel.yaml.events import SequenceEndEvent

        items = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(self._value(event))
        return items

    def _mapping(self) -> dict[str, Any]:
        from ruamel.yaml.events import MappingEndEvent, ScalarEvent

        fields: dict[str, Any] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            value = self._value(event)
            key = event.value if isinstance(event, ScalarEvent) else value
            if not isinstance(key, str):
                raise FrontmatterError("a key is no text")
            if key in fields:
                raise FrontmatterError(f"the key {key!r} stands there twice")
            fields[key] = self._value(next(self._events))
        return fields


def _plain_value(text: str) -> Any:
    """Return what an unquoted scalar means in the core schema."""
    if _NULL.fullmatch(text):
        return None
    if match := _BOOL.fullmatch(text):
        return match[1] is not None
    if _INT.fullmatch(text):
        return int(text) if len(text) < 4000 else float("inf")
    if _RADIX_INT.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", ""))
    return text
