"""An editor with two modes, as in vi: Escape leaves typing; then h j k l 0 $ w b x move and delete, i a A go on."""

from __future__ import annotations

from typing import Any

from piolet.ext import CustomEditor, ExtensionAPI, ExtensionContext, Key

#: What a key means in normal mode, as the key that means it to the built-in editor.
KEYS = {
    "h": "left",
    "l": "right",
    "j": "down",
    "k": "up",
    "0": "home",
    "$": "end",
    "w": "alt+right",
    "b": "alt+left",
    "x": "delete",
}


class ModalEditor(CustomEditor):
    typing = True

    def render(self, width: int) -> list[str]:
        mode = self.theme.fg("success", " INSERT") if self.typing else self.theme.fg("warning", " NORMAL")
        return [*super().render(width), mode]

    def handle_input(self, key: Key) -> bool:
        if key.name == "escape" and self.typing:
            self.typing = False
            return True
        if self.typing or not key.text:
            return super().handle_input(key)
        if key.text in ("i", "a", "A"):
            self.typing = True
            move = {"a": "right", "A": "end"}.get(key.text)
            return super().handle_input(Key(move)) if move else True
        name = KEYS.get(key.text)
        return super().handle_input(Key(name)) if name else True


def extension(pi: ExtensionAPI) -> None:
    @pi.on("session_start")
    def start(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.set_editor_component(ModalEditor)
