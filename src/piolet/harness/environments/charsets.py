"""Sets of characters as ranges of code points, with the classes that patterns name (as Unicode and Rust define them).

A set never holds LF, which no pattern can match, and never a surrogate: those stand for bytes that are not UTF-8.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST: Final = 0x10FFFF
_NEVER: Final[Ranges] = ((0x0A, 0x0A), (0xD800, 0xDFFF))
#: Letters and marks of all scripts are below the first bound, variation selectors between the other two.
_ASSIGNED: Final = (range(0x3_2400), range(0xE_0000, 0xE_0200))

ASCII_CLASSES: Final[dict[str, Ranges]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 9), (11, 127)),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 9), (11, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 9), (11, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
SPACE: Final[Ranges] = (
    *((9, 9), (11, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
#: Letters by property that are symbols by category: circled and squared Latin letters.
_LETTER_SYMBOLS: Final[Ranges] = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """Return the set of all characters that are in one of `sets`."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(r for one in sets for r in one):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return the set of all other characters that a set may hold."""
    result, position = [], 0
    for low, high in union(ranges, _NEVER):
        if position < low:
            result.append((position, low - 1))
        position = high + 1
    if position <= _LAST:
        result.append((position, _LAST))
    return tuple(result)


def without_line_feed(ranges: Ranges) -> Ranges:
    """Return `ranges` without what a set never holds."""
    return complement(complement(ranges))


def fold_case(ranges: Ranges) -> Ranges:
    """Return `ranges` with all characters that differ from theirs in case only (simple folding, one to one)."""
    others = [code for same in _case_classes() if any(contains(ranges, chr(code)) for code in same) for code in same]
    return union(ranges, ((code, code) for code in others))


def contains(ranges: Ranges, character: str) -> bool:
    code = ord(character)
    index = bisect_right(ranges, (code, _LAST)) - 1
    return index >= 0 and code <= ranges[index][1]


ANY: Final = complement(())


@lru_cache(maxsize=1)
def word() -> Ranges:
    """Return the characters of words: letters, marks, decimal digits, connectors, joiners."""
    letters = _collect(lambda category: category[0] in "LM" or category in ("Nd", "Nl", "Pc"))
    return union(letters, _LETTER_SYMBOLS, ((0x200C, 0x200D),))


@lru_cache(maxsize=1)
def digit() -> Ranges:
    return _collect(lambda category: category == "Nd")


@lru_cache(maxsize=32)
def general_category(name: str) -> Ranges:
    """Return the characters of a general category (``L``, ``Lu``); LookupError if there is no such one."""
    known = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
    known |= {"Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf"}
    wanted = {category for category in known if category.startswith(name)}
    if not wanted or name == "C":
        raise LookupError(name)
    return without_line_feed(_collect(lambda category: category in wanted))


@lru_cache(maxsize=1)
def _case_classes() -> list[list[int]]:
    classes: dict[str, list[int]] = {}
    for code in _ASSIGNED[0]:
        character = chr(code)
        folded = character.casefold()
        if len(folded) != 1:
            folded = character.lower()
        classes.setdefault(folded if len(folded) == 1 else character, []).append(code)
    return [same for same in classes.values() if len(same) > 1]


def _collect(wanted: Callable[[str], bool]) -> Ranges:
    answers: dict[str, bool] = {}
    codes = []
    for block in _ASSIGNED:
        for code in block:
            category = unicodedata.category(chr(code))
            answer = answers.get(category)
            if answer is None:
                answer = answers[category] = wanted(category)
            if answer:
                codes.append(code)
    return union((code, code) for code in codes)
