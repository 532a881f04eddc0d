"""Keys of the toolkit's events in our names, and back."""

from __future__ import annotations

from textual import events
from textual.keys import key_to_character

from piolet.tui.keys import Key, normalize

# Names that differ; what the toolkit calls by the name of its character is found by that.
_NAMES = {
    "pageup": "pageUp",
    "pagedown": "pageDown",
    "escape": "escape",
    "newline": "ctrl+j",
    "ctrl+at": "ctrl+space",
    "ctrl+@": "ctrl+space",
    "ctrl+underscore": "ctrl+-",
    "ctrl+minus": "ctrl+-",
}
_TOOLKIT_NAMES = {"pageUp": "pageup", "pageDown": "pagedown"}


class KeyEvent(events.Key):
    """A key that our own decoder has read. `pressed` is all that it knows of it."""

    def __init__(self, pressed: Key) -> None:
        super().__init__(_toolkit_name(pressed.name), pressed.text or None)
        self.pressed = pressed


KeyEvent.handler_name = events.Key.handler_name  # widgets take it like any other key


def key_of(event: events.Key) -> Key:
    """Return the key of an event, also of one that the toolkit has read or that a test has made."""
    if isinstance(event, KeyEvent):
        return event.pressed
    if event.key in _NAMES:
        return Key(_NAMES[event.key])
    head, _, base = event.key.rpartition("+")
    text = event.character if event.is_printable and event.character and not head.replace("shift", "") else ""
    if text:
        if text == " ":
            return Key("space", " ")
        return Key(f"shift+{text.lower()}" if text.isupper() else text, text)
    base = _NAMES.get(base, base)
    if len(base) > 1 and base.islower() and (char := key_to_character(base)) and char.isprintable() and char != " ":
        base = char
    return Key(normalize(f"{head}+{base}" if head else base))


def _toolkit_name(name: str) -> str:
    head, plus, base = name.rpartition("+") if not name.endswith("++") else (name[:-2], "+", "+")
    return head + plus + _TOOLKIT_NAMES.get(base, base)
