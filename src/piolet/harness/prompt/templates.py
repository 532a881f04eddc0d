"""Prompt templates: ``/name args`` becomes the template's text with the arguments filled in. Pure.

Source of the rules: the resources specification, section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from piolet.base.frontmatter import parse_fields
from piolet.base.regex import compiled_later

_BLANK = r"[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_BLANKS = compiled_later(f"{_BLANK}*")
# A quoted start (closed, else it is no quote), then whatever follows without a blank. Possessive: no second reading.
_ARGUMENT = compiled_later(
    rf"""(?:"(?P<double>(?:\\"|[^"])*+)"|'(?P<single>(?:\\'|[^'])*+)')?(?P<rest>(?:(?!{_BLANK}).)*)""", re.DOTALL
)
_PLACEHOLDER = compiled_later(
    r"\$\{(?P<default_of>[0-9]+|@|ARGUMENTS):-(?P<default>[^}]*)\}"
    r"|\$\{@:(?P<start>[0-9]+)(?::(?P<length>[0-9]+))?\}"
    r"|\$(?P<plain>[0-9]+|@|ARGUMENTS)"
    r"|\{\{(?P<name>[^{}]+)\}\}"
)
_DESCRIPTION_LENGTH = 60


class PromptTemplate(Struct, frozen=True):
    """A template. `arguments` are the names that its front matter declares, for ``{{name}}``."""

    name: str
    description: str
    content: str
    path: str = ""
    argument_hint: str | None = None
    arguments: Sequence[str] = ()


def parse_template(name: str, text: str, path: str = "") -> PromptTemplate:
    """Return the template that the text of a file holds. Raises `FrontmatterError`."""
    fields, body = parse_fields(text)
    description, hint, arguments = (fields.get(key) for key in ("description", "argument-hint", "arguments"))
    if not isinstance(description, str) or not description:
        line = next((line for line in body.split("\n") if line.strip()), "")
        description = line if len(line) <= _DESCRIPTION_LENGTH else f"{line[:_DESCRIPTION_LENGTH]}..."
    return PromptTemplate(
        name,
        description,
        body,
        path,
        hint if isinstance(hint, str) and hint else None,
        [item for item in arguments if isinstance(item, str)] if isinstance(arguments, list) else (),
    )


def expand_template(text: str, templates: Sequence[PromptTemplate]) -> str:
    """Return the text of the template that ``/name args`` calls; `text` itself if it calls none. The first one wins."""
    if not text.startswith("/"):
        return text
    name, *rest = re.split(_BLANK, text[1:], maxsplit=1)
    for template in templates:
        if template.name == name:
            return fill(template.content, split_arguments("".join(rest)), template.arguments)
    return text


def split_arguments(text: str) -> list[str]:
    """Return the arguments in `text`: separated by blanks, quoted where one begins with a quote that is closed."""
    arguments: list[str] = []
    position = 0
    while True:
        position = _skip_blanks(text, position)
        if position == len(text):
            return arguments
        match = _ARGUMENT.match(text, position)
        assert match is not None, "an argument may be empty"
        quoted = ""
        if match["double"] is not None:
            quoted = match["double"].replace('\\"', '"')
        elif match["single"] is not None:
            quoted = match["single"].replace("\\'", "'")
        arguments.append(quoted + match["rest"])
        position = match.end()


def fill(content: str, arguments: Sequence[str], declared: Sequence[str] = ()) -> str:
    """Return `content` with its placeholders replaced, in one pass: nothing in a value is replaced again."""
    everything = " ".join(arguments)
    named = _named(arguments, declared)

    def value_of(which: str) -> str:
        if not which[0].isdigit():
            return everything
        number = _number(which)
        return arguments[number - 1] if 0 < number <= len(arguments) else ""

    def replacement(match: re.Match[str]) -> str:
        if match["name"] is not None:
            return named.get(match["name"], match[0])
        if match["plain"]:
            return value_of(match["plain"])
        if match["default_of"]:
            return value_of(match["default_of"]) or match["default"]
        start = max(_number(match["start"]) - 1, 0)
        end = None if match["length"] is None else start + _number(match["length"])
        return " ".join(arguments[start:end])

    return _PLACEHOLDER.sub(replacement, content)


def _named(arguments: Sequence[str], declared: Sequence[str]) -> Mapping[str, str]:
    """Return a value for each declared name: from ``name=value`` first, the others by position; missing is empty."""
    values: dict[str, str] = {}
    positional = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name in declared and name not in values:
            values[name] = value
        else:
            positional.append(argument)
    for name in declared:
        if name not in values:
            values[name] = positional.pop(0) if positional else ""
    return values


def _number(digits: str) -> int:
    return int(digits) if len(digits) < 10 else 10**10  # more than there can be


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    assert match is not None, "there may be none"
    return match.end()
