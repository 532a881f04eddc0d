"""``/scoped-models``: which models the model keys go through, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from piolet.app.settings import Settings
from piolet.llm.model import Model
from piolet.llm.patterns import ScopedModel
from piolet.modes.interactive.commands.models import NO_MODEL
from piolet.tui.component_input import Input, move_in
from piolet.tui.fuzzy import rank
from piolet.tui.keymap import Keymap
from piolet.tui.keys import Key
from piolet.tui.panels.panel import fit_height, head_lines, key_hints
from piolet.tui.select_list import Item, SelectList
from piolet.tui.spans import Line

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

ROWS = 12


async def scoped_models(face: Face, rest: str) -> None:
    """``/scoped-models``: changes count at once, for this session; the save key keeps them."""
    models = face.runtime.services.models.get_available()
    if not models:
        face.presenter.error(NO_MODEL)
        return
    before = {scoped.model.key: scoped for scoped in face.runtime.session.scope}

    def changed(keys: Sequence[str]) -> None:
        known = {model.key: model for model in models}
        face.runtime.session.scope = [before.get(key) or ScopedModel(known[key]) for key in keys]

    def save(keys: Sequence[str]) -> None:
        face.runtime.services.files.set(Settings.enabled_models, list(keys) or None)
        face.presenter.status("Scoped models saved")

    await face.ask(lambda done: ScopePanel(models, list(before), changed, save, lambda: done(None), keymap=face.keymap))
    count = len(face.runtime.session.scope)
    face.presenter.status(f"{count} scoped models" if count else "All models are in scope")


class ScopePanel:
    """Models to switch on and off and to put in order. `changed` and `save` get the names of those that are on."""

    def __init__(
        self,
        models: Sequence[Model],
        enabled: Sequence[str],
        changed: Callable[[Sequence[str]], object],
        save: Callable[[Sequence[str]], object],
        close: Callable[[], object],
        *,
        keymap: Keymap,
    ) -> None:
        self.enabled = [key for key in enabled if any(model.key == key for model in models)]
        self._models = {model.key: model for model in models}
        self._changed, self._save, self._close = changed, save, close
        self._keymap = keymap
        self._list: SelectList[str] = SelectList([], rows=ROWS)
        self._input = Input(prompt="  Search: ", keymap=keymap, on_change=lambda query: self._show())
        self._show()

    def handle(self, key: Key) -> bool:
        current = self._list.current
        chosen = current.value if current is not None else None
        match self._keymap.action(key, ("app.models.", "tui.select.")):
            case "tui.select.cancel":
                self._close()
            case "tui.select.confirm" if chosen is not None:
                self._toggle([chosen])
            case "app.models.enableAll":
                self._set([*self.enabled, *(key for key in self._shown() if key not in self.enabled)])
            case "app.models.clearAll":
                self._set([key for key in self.enabled if key not in self._shown()])
            case "app.models.toggleProvider" if chosen is not None:
                provider = self._models[chosen].provider
                self._toggle([key for key, model in self._models.items() if model.provider == provider])
            case "app.models.reorderUp" if chosen is not None:
                self._move(chosen, -1)
            case "app.models.reorderDown" if chosen is not None:
                self._move(chosen, 1)
            case "app.models.save":
                self._save(self.enabled)
            case str(action) if action.startswith("tui.select."):
                move_in(self._list, action)
            case _:
                return self._input.handle_input(key)
        return True

    def paste(self, text: str) -> None:
        self._input.paste(text)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        label = self._keymap.label
        hints = [
            f"Enter on/off · {label('app.models.enableAll')} all · {label('app.models.clearAll')} none · "
            f"{label('app.models.toggleProvider')} provider · {label('app.models.reorderUp')}/"
            f"{label('app.models.reorderDown')} order · {label('app.models.save')} save"
        ]
        head = head_lines("Scoped models", key_hints(hints, width, height), width)
        self._list.rows = max(1, min(ROWS, height - len(head) - 2))
        return fit_height(head, self._list.lines(width), height, self._input.line(width))

    def _shown(self) -> list[str]:
        return [item.value for item in self._list.items]

    def _toggle(self, keys: Sequence[str]) -> None:
        """Switch `keys` on, or off if all of them are on."""
        if all(key in self.enabled for key in keys):
            self._set([key for key in self.enabled if key not in keys])
        else:
            self._set([*self.enabled, *(key for key in keys if key not in self.enabled)])

    def _move(self, key: str, step: int) -> None:
        if key not in self.enabled:
            return
        place = self.enabled.index(key)
        other = place + step
        if 0 <= other < len(self.enabled):
            enabled = list(self.enabled)
            enabled[place], enabled[other] = enabled[other], enabled[place]
            self._set(enabled)

    def _set(self, enabled: list[str]) -> None:
        self.enabled = enabled
        self._changed(enabled)
        self._show()

    def _show(self) -> None:
        """Show the models that are searched for: those that are on first, in their order; the selection stays."""
        current = self._list.current
        keys = [*self.enabled, *(key for key in self._models if key not in self.enabled)]
        found = rank(self._input.text, keys, lambda key: f"{key} {self._models[key].name}")
        items = [
            Item(
                key, f"{'✓' if key in self.enabled else '✗'} {self._models[key].id}", f"[{self._models[key].provider}]"
            )
            for key in found
        ]
        place = next((n for n, item in enumerate(items) if current and item.value == current.value), 0)
        self._list.show(items, place)
