"""Choosing models by what people write: ``--model``, ``--provider``, ``--models``, the setting ``enabledModels``.

Pure functions over a list of models. Source: command line, section 5. Letter case never matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from piolet.base.likeness import did_you_mean
from piolet.llm.messages import THINKING_LEVELS, ThinkingLevel
from piolet.llm.model import Model

HasAuth = Callable[[str], bool]


class ScopedModel(Struct, frozen=True):
    """A model to choose from, with the level that its pattern asked for."""

    model: Model
    thinking: ThinkingLevel | None = None


class PatternProblem(Struct, frozen=True):
    """Something to tell the user about a pattern; `code` for programs, `text` for people."""

    code: Literal["ambiguous", "no-match", "invalid-thinking", "custom-id", "unknown-provider", "no-models"]
    pattern: str
    text: str


class Scope(Struct, frozen=True):
    models: Sequence[ScopedModel]
    warnings: Sequence[PatternProblem]


class Choice(Struct, frozen=True):
    """What ``--model`` means. Without a pattern all is None; with an `error` there is no model."""

    model: Model | None = None
    thinking: ThinkingLevel | None = None
    warning: PatternProblem | None = None
    error: PatternProblem | None = None


# ------------------------------------------------------------------------------------------------------------ scope


def resolve_scope(patterns: Iterable[str], models: Sequence[Model]) -> Scope:
    """Return the models, of those that have credentials, that `patterns` name, in order and once each."""
    found: dict[str, ScopedModel] = {}
    warnings: list[PatternProblem] = []
    for pattern in patterns:
        matches, thinking, warning = _scope_matches(pattern, models)
        if warning is not None:
            warnings.append(warning)
        for model in matches:
            found.setdefault(model.key, ScopedModel(model, thinking))
    return Scope(list(found.values()), warnings)


def _scope_matches(
    pattern: str, models: Sequence[Model]
) -> tuple[Sequence[Model], ThinkingLevel | None, PatternProblem | None]:
    text = _tidy(pattern)
    head, level = _split_level(text)
    if set(text) & set("*?["):
        for candidate, thinking in ((text, None), (head, level)):
            if literal := _literal(candidate, models):
                return literal, thinking, None
        matcher = _glob(head)
        fitting = [model for model in models if matcher.fullmatch(model.key) or matcher.fullmatch(model.id)]
        return fitting, level, None if fitting else _no_match(pattern)
    thinking, warning = None, None
    matches = _search_everywhere(text, models)
    while not matches and ":" in text:
        text, _, suffix = text.rpartition(":")
        matches = _search_everywhere(text, models)
        if suffix in THINKING_LEVELS:
            thinking = thinking or next(known for known in THINKING_LEVELS if known == suffix)
        elif matches:
            said = f'Invalid thinking level "{suffix}" in pattern "{pattern}". Using default instead.'
            warning = PatternProblem("invalid-thinking", pattern, said)
    if not matches:
        return (), None, _no_match(pattern)
    if len(matches) > 1:
        said = f'Pattern "{pattern}" fits several providers: {_listed(matches)}. All of them are used.'
        warning = warning or PatternProblem("ambiguous", pattern, said)
    return matches, thinking, warning


def _no_match(pattern: str) -> PatternProblem:
    return PatternProblem("no-match", pattern, f'No models match pattern "{pattern}"')


# ----------------------------------------------------------------------------------------------------------- choice


def resolve_choice(
    pattern: str | None,
    models: Sequence[Model],
    has_auth: HasAuth,
    *,
    provider: str | None = None,
    thinking_given: bool = False,
    default_models: Mapping[str, str] = {},
) -> Choice:
    """Return the model, of all that are known, that ``--model`` and ``--provider`` name.

    `has_auth`: with ``--api-key``, any provider has credentials.
    `thinking_given`: ``--thinking`` is there, so that a level at the end of a custom id is part of the id.
    `default_models`: provider to the id of the model after which a custom one is made.
    """
    if pattern is None:
        return Choice()
    if not models:
        return Choice(error=PatternProblem("no-models", pattern, "No models are known: check models.json."))
    text = _tidy(pattern)
    named = provider
    if provider is not None:
        named = _known_provider(provider, models)
        if named is None:
            said = f'Unknown provider "{provider}". Use --list-models to see available providers and models.'
            said += did_you_mean(provider, {model.provider for model in models})
            return Choice(error=PatternProblem("unknown-provider", provider, said))
        rest = _after_provider(text, named) or text
    else:
        named, rest = _infer_provider(text, models)
    if named is not None:
        own = [model for model in models if model.provider == named]
        found, level = _search_with_level(rest, own, has_auth)
        if provider is None and not has_auth(named):
            for reading, literal_level in _readings(text):
                literal = [model for model in models if _same(model.id, reading) and has_auth(model.provider)]
                if len(literal) == 1:
                    return Choice(literal[0], literal_level)
        if found:
            return Choice(found[0], level)
    if provider is None:
        found, level = _search_with_level(text, models, has_auth)
        if len(found) == 1:
            return Choice(found[0], level)
        if found:
            said = f'Model "{pattern}" is ambiguous across providers: {_listed(found)}. Name one with --provider.'
            return Choice(error=PatternProblem("ambiguous", pattern, said))
    if named is not None and rest:
        return _custom(rest, own, thinking_given, default_models.get(named))
    names = {model.key if "/" in text else model.id for model in models}
    said = f'Model "{pattern}" not found. Use --list-models to see available models.{did_you_mean(text, names)}'
    return Choice(error=PatternProblem("no-match", pattern, said))


def _custom(model_id: str, own: Sequence[Model], thinking_given: bool, default: str | None) -> Choice:
    """A model that the catalogue does not know yet, made after another one of its provider."""
    pattern = next((model for model in own if model.id == default), own[0])
    head, level = _split_level(model_id)
    if level is not None and not thinking_given:
        model_id = head
    else:
        level = None
    reasoning = pattern.reasoning or level not in (None, "off")
    said = f'Model "{model_id}" not found for provider "{pattern.provider}". Using custom model id.'
    return Choice(
        msgspec.structs.replace(pattern, id=model_id, name=model_id, reasoning=reasoning),
        level,
        warning=PatternProblem("custom-id", model_id, said),
    )


def _search_with_level(
    text: str, models: Sequence[Model], has_auth: HasAuth
) -> tuple[Sequence[Model], ThinkingLevel | None]:
    for reading, level in _readings(text):
        if found := _search(reading, models, has_auth):
            return found, level
    return (), None


def _readings(text: str) -> Iterator[tuple[str, ThinkingLevel | None]]:
    """Yield `text` as it is, then without one level after the other at its end; the last one written counts."""
    yield text, None
    text, level = _split_level(text)
    rest: ThinkingLevel | None = level
    while rest is not None:
        yield text, level
        text, rest = _split_level(text)


# -------------------------------------------------------------------------------------------------------- searching


def _search(text: str, models: Sequence[Model], has_auth: HasAuth) -> Sequence[Model]:
    """Return the model that `text` means; several if the same id is at several providers, none if nothing fits."""
    found = _by_id(text, models) or _by_part(text, models, has_auth)
    usable = [model for model in found if has_auth(model.provider)]
    return usable if len(usable) == 1 else found


def _search_everywhere(text: str, models: Sequence[Model]) -> Sequence[Model]:
    """As `_search`, of models that all have credentials; the text may begin with a provider and a slash."""
    provider, rest = _infer_provider(text, models)
    own = [model for model in models if model.provider == provider]
    return _by_id(rest, own) or _by_id(text, models) or _by_part(rest, own) or _by_part(text, models)


def _by_id(text: str, models: Sequence[Model]) -> Sequence[Model]:
    return [model for model in models if _same(model.id, text)]


def _literal(text: str, models: Sequence[Model]) -> Sequence[Model]:
    return [model for model in models if _same(model.key, text)] or _by_id(text, models)


def _by_part(text: str, models: Sequence[Model], has_auth: HasAuth = lambda provider: True) -> Sequence[Model]:
    wanted = text.lower()
    fitting = [model for model in models if wanted in model.id.lower() or wanted in model.name.lower()]
    if not wanted or not fitting:
        return ()
    fitting = [model for model in fitting if has_auth(model.provider)] or fitting
    best = max(fitting, key=lambda model: (_is_alias(model.id), _collated(model.id)))
    return [model for model in fitting if model.id == best.id]


def _infer_provider(text: str, models: Sequence[Model]) -> tuple[str | None, str]:
    """Return the longest provider whose id and a slash begin `text`, and what follows."""
    providers = dict.fromkeys(model.provider for model in models)
    fitting = [provider for provider in providers if _after_provider(text, provider) is not None]
    if not fitting:
        return None, text
    longest = max(fitting, key=len)
    return longest, text[len(longest) + 1 :]


def _after_provider(text: str, provider: str) -> str | None:
    return text[len(provider) + 1 :] if text.lower().startswith(f"{provider.lower()}/") else None


def _known_provider(name: str, models: Sequence[Model]) -> str | None:
    return next((model.provider for model in models if _same(model.provider, name)), None)


def _is_alias(model_id: str) -> bool:
    """Whether the id names the newest of a kind, not the one of a date."""
    return model_id.endswith("-latest") or re.search(r"-\d{8}$", model_id) is None


# Punctuation, symbols, digits, letters: the order in which the Unicode collation sorts what ids are made of.
_COLLATION = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"


def _collated(text: str) -> tuple[list[int], str]:
    """A key that sorts as dictionaries do: letter case decides only between equals, the small letter first."""
    ranks = [_COLLATION.find(char) if char in _COLLATION else ord(char) + 128 for char in text.lower()]
    return ranks, text.swapcase()


def _split_level(text: str) -> tuple[str, ThinkingLevel | None]:
    head, colon, suffix = text.rpartition(":")
    level = next((level for level in THINKING_LEVELS if level == suffix), None)
    return (head, level) if colon and level is not None else (text, None)


def _tidy(pattern: str) -> str:
    provider, slash, rest = pattern.strip().partition("/")
    return f"{provider.strip()}{slash}{rest.strip()}"


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _listed(models: Iterable[Model]) -> str:
    return ", ".join(model.key for model in models)


def _glob(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` do not cross a slash, ``**`` as a whole part does; ``[...]`` is a class, ``[!...]`` not in it."""
    parts = []
    for piece in re.findall(r"(?:(?<=/)|(?<!.))\*\*(?:/|$)|\*+|\?|\[[!^]?\]?[^\]]*\]|.", pattern, re.DOTALL):
        if piece in ("**", "**/") and (piece != "**" or pattern.endswith("**")):
            parts.append(".*" if piece == "**" else "(?:.*/)?")
        elif piece[0] == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        elif len(piece) > 1:
            negation, members = ("^", piece[2:-1]) if piece[1] in "!^" else ("", piece[1:-1])
            parts.append(f"[{negation}{members.translate(_class_escapes)}]")
        else:
            parts.append(re.escape(piece))
    try:
        return re.compile("".join(parts), re.IGNORECASE)
    except re.error:  # a range the wrong way round
        return re.compile(re.escape(pattern), re.IGNORECASE)


_class_escapes = str.maketrans({"[": r"\[", "]": r"\]", "\\": r"\\", "^": r"\^"})
