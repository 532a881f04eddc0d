"""Keys: their names, and what a terminal's bytes say was pressed.

Decodes the legacy sequences (xterm, rxvt, Linux console), xterm's modifyOtherKeys and the Kitty keyboard protocol, and
tells pastes and the terminal's own replies apart from keys. Names are those of ``keybindings.json``: modifiers
``ctrl``, ``shift``, ``alt``, ``super`` and a key, joined by ``+`` (``ctrl+shift+up``, ``pageUp``, ``shift+l``).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from piolet.tui.text import graphemes

KeyKind: TypeAlias = Literal["press", "repeat", "release"]
MODIFIERS = ("ctrl", "shift", "alt", "super")
NAMED_KEYS = frozenset(
    ["up", "down", "left", "right", "home", "end", "pageUp", "pageDown", "insert", "delete", "clear"]
    + ["backspace", "enter", "tab", "escape", "space"]
    + [f"f{number}" for number in range(1, 36)]
)
ALIASES = {"esc": "escape", "return": "enter"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key. `name` is canonical (see `normalize`); `text` is what it types, empty if nothing."""

    name: str
    text: str = ""
    kind: KeyKind = "press"


@dataclass(frozen=True, slots=True)
class Paste:
    """A bracketed paste, as it came."""

    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """Something else that the terminal said: a colour, an attribute, the mouse, the focus. `sequence`: all of it."""

    sequence: str


TerminalInput: TypeAlias = Key | Paste | Report


def normalize(name: str) -> str:
    """Return `name` with its modifiers in the canonical order, so that all spellings of one key are equal."""
    head, _, key = name[:-1].rpartition("+")
    key += name[-1:]
    modifiers = head.split("+")
    return "+".join([m for m in MODIFIERS if m in modifiers] + [ALIASES.get(key, key)])


def valid(name: str) -> bool:
    """Whether `name` has the form of a key: known modifiers, once each, and a key (resource formats, section 9)."""
    head, _, key = name[:-1].rpartition("+")
    key += name[-1:]
    modifiers = head.split("+") if head else []
    if len(set(modifiers)) != len(modifiers) or not set(modifiers) <= set(MODIFIERS):
        return False
    return key in NAMED_KEYS or key in ALIASES or (len(key) == 1 and "!" <= key <= "~" and not key.isupper())


def press(name: str) -> Key:
    """Return the key called `name` as it is typed without a protocol: ``a`` types "a", ``ctrl+a`` nothing."""
    name = normalize(name)
    base = name.removeprefix("shift+")
    text = " " if base == "space" else base if len(base) == 1 else ""
    return Key(name, text.upper() if base != name else text)


_LETTERS = {  # the last character of CSI x and SS3 x
    "A": "up", "B": "down", "C": "right", "D": "left", "E": "clear", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip
_NUMBERS = {  # CSI n ~
    1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end",
    11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10",
    23: "f11", 24: "f12", 25: "f13", 26: "f14", 28: "f15", 29: "f16", 31: "f17", 32: "f18", 33: "f19", 34: "f20",
}  # fmt: skip
_CODES = {  # code points of CSI n u
    8: "backspace", 9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace",
    **{57376 + n: f"f{13 + n}" for n in range(23)},
    **{57399 + n: str(n) for n in range(10)},
    57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57414: "enter", 57415: "=", 57416: ",",
    57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageUp", 57422: "pageDown",
    57423: "home", 57424: "end", 57425: "insert", 57426: "delete", 57427: "clear",
}  # fmt: skip
_CONTROLS = {
    0x00: "ctrl+space", 0x08: "ctrl+backspace", 0x09: "tab", 0x0D: "enter", 0x1B: "escape",
    0x1C: "ctrl+\\", 0x1D: "ctrl+]", 0x1E: "ctrl+^", 0x1F: "ctrl+-", 0x7F: "backspace",
}  # fmt: skip
_RXVT = {"^": "ctrl", "$": "shift", "@": "ctrl+shift"}
_MODIFIER_BITS = ((4, "ctrl"), (1, "shift"), (2, "alt"), (8, "super"))

_csi = re.compile(r"\x1b\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~$])")
_string = re.compile(r"\x1b[\]P_^X].*?(?:\x07|\x1b\\)", re.DOTALL)
_plain = re.compile(r"[^\x00-\x1f\x7f]+")
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"


class KeyDecoder:
    """Turns the bytes that a terminal sends into keys, over any splitting into reads."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._buffer = ""

    @property
    def pending(self) -> bool:
        """Whether an unfinished sequence waits; if no more comes within some 50 ms, call `flush`."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[TerminalInput]:
        """Take in `data`; return what is complete."""
        self._buffer += self._utf8.decode(data)
        return self._read(final=False)

    def flush(self) -> list[TerminalInput]:
        """Nothing followed in time: what began like a sequence was keys (a lone ESC is Escape). A paste goes on."""
        return self._read(final=True)

    def end_paste(self) -> list[TerminalInput]:
        """The end of a paste was lost, so what came of it is all."""
        if self._buffer.startswith(_PASTE_START):
            self._buffer += _PASTE_END
        return self._read(final=True)

    def _read(self, final: bool) -> list[TerminalInput]:
        found: list[TerminalInput] = []
        text, at = self._buffer, 0
        while at < len(text):
            if text.startswith(_PASTE_START, at):
                end = text.find(_PASTE_END, at)
                if end < 0:
                    break
                found.append(Paste(text[at + len(_PASTE_START) : end]))
                at = end + len(_PASTE_END)
            elif text[at] == "\x1b":
                size, item = _escape(text, at, final)
                if not size:
                    break
                at += size
                if item is not None:
                    found.append(item)
            elif match := _plain.match(text, at):
                found += [_typed(cluster) for cluster in graphemes(match[0])]
                at = match.end()
            else:
                found.append(_control(text[at]))
                at += 1
        self._buffer = text[at:]
        return found


def _escape(text: str, at: int, final: bool) -> tuple[int, TerminalInput | None]:
    """Read what begins with ESC: its length (0: unfinished) and what it says (None: nothing)."""
    following = text[at + 1 : at + 2]
    if not following:
        return (1, Key("escape")) if final else (0, None)
    if following == "[":
        if text[at + 2 : at + 3] == "[" and len(text) > at + 3:  # Linux console, F1 to F5
            return 4, Key(f"f{ord(text[at + 3]) - 64}") if "A" <= text[at + 3] <= "E" else None
        if text[at + 2 : at + 3] == "M" and len(text) >= at + 6:  # the oldest form of mouse reports
            return 6, Report(text[at : at + 6])
        match = None if text[at + 2 : at + 3] in ("[", "M") else _csi.match(text, at)
        if match and not (match[1] and match[4] == "$"):
            return len(match[0]), _csi_key(match)
        return (2, Key("alt+[")) if final else (0, None)
    if following == "O" and len(text) > at + 2:
        return 3, _ss3_key(text[at + 2])
    if following in "]P_^X" and (match := _string.match(text, at)):
        return len(match[0]), Report(match[0])
    if following in "OP]_^X":
        return (2, _with_alt(_typed(following))) if final else (0, None)
    if following == "\x1b":
        size, inner = _escape(text, at + 1, final)
        if size == 1:
            return 2, Key("alt+escape")
        return (size + 1, _with_alt(inner) if isinstance(inner, Key) else inner) if size else (0, None)
    inner = _control(following) if following < " " or following == "\x7f" else _typed(following)
    return 2, _with_alt(inner)


def _typed(cluster: str) -> Key:
    if cluster == " ":
        return Key("space", " ")
    if len(cluster) == 1 and cluster.isupper():
        return Key(f"shift+{cluster.lower()}", cluster)
    return Key(cluster, cluster)


def _control(char: str) -> Key:
    return Key(_CONTROLS.get(ord(char)) or f"ctrl+{chr(ord(char) + 96)}")


def _with_alt(key: Key) -> Key:
    return Key(normalize(f"alt+{key.name}"), kind=key.kind)


def _ss3_key(letter: str) -> Key | None:
    if letter in "abcd":
        return Key(f"ctrl+{_LETTERS[letter.upper()]}")
    if letter == "M":
        return Key("enter")
    if "j" <= letter <= "y":  # the keypad in application mode
        char = chr(ord(letter) - 64)
        return Key(char, char)
    return Key(_LETTERS[letter]) if letter in _LETTERS else None


def _csi_key(match: re.Match[str]) -> TerminalInput | None:
    private, numbers, between, last = match.groups()
    if private or between or last in "cnty" or (last in "IO" and not numbers):
        return Report(match[0])
    groups = [[int(n) if n else 0 for n in group.split(":")] for group in numbers.split(";")] if numbers else []
    first = groups[0][0] if groups else 1
    modifiers, kind = _modifiers(groups[1] if len(groups) > 1 else [])
    if last == "Z":
        return Key("shift+tab")
    if last in "abcd":
        return Key(f"shift+{_LETTERS[last.upper()]}")
    if last in _RXVT and first in _NUMBERS:
        return Key(f"{_RXVT[last]}+{_NUMBERS[first]}")
    if last == "u":
        typed = "".join(map(chr, groups[2])) if len(groups) > 2 and groups[2][0] else ""
        return _coded(groups[0] if groups else [0], modifiers, kind, typed)
    if last == "~" and first == 27 and len(groups) > 2:  # modifyOtherKeys
        return _coded(groups[2], modifiers, kind, "")
    name = _NUMBERS.get(first) if last == "~" else _LETTERS.get(last)
    if name is None or (last == "R" and first != 1):
        return Report(match[0])
    return Key("+".join([*modifiers, name]), kind=kind)


def _modifiers(group: list[int]) -> tuple[list[str], KeyKind]:
    bits = max(0, (group[0] if group else 1) - 1)
    kinds: dict[int, KeyKind] = {2: "repeat", 3: "release"}
    kind: KeyKind = kinds.get(group[1], "press") if len(group) > 1 else "press"
    return [name for bit, name in _MODIFIER_BITS if bits & bit], kind


def _coded(codes: list[int], modifiers: list[str], kind: KeyKind, typed: str) -> Key | None:
    """Return the key of a code point; `codes` are the key, what it is with shift, and its place on a US keyboard."""
    code = codes[0]
    name = _CODES.get(code)
    if name is None and (57344 <= code <= 63743 or code < 32 or code > 0x10FFFF):
        return None  # a modifier or lock by itself, media keys
    char = chr(code) if name is None else name
    if char.isupper() and len(char) == 1:
        char = char.lower()
        modifiers = modifiers if "shift" in modifiers else [m for m in MODIFIERS if m in (*modifiers, "shift")]
    if code > 127 and name is None and len(codes) > 2 and codes[2] and "ctrl" in modifiers:
        char = chr(codes[2])  # a shortcut on a keyboard of another script
    if not typed and not set(modifiers) - {"shift"} and (len(char) == 1 or char == "space"):
        plain = " " if char == "space" else char
        shifted = chr(codes[1]) if len(codes) > 1 and codes[1] else plain.upper()
        typed = shifted if modifiers else plain
    if modifiers == ["shift"] and len(char) == 1 and not char.isalpha() and typed not in ("", char):
        return Key(typed, typed, kind)  # a sign is named by itself, as without the protocol
    return Key("+".join([*modifiers, char]), typed, kind)
