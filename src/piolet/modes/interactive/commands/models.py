"""``/model``: which model answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from piolet.app.settings import Settings
from piolet.llm.model import Model
from piolet.modes.interactive.commands.thinking import level_words
from piolet.tui.blocks.footer import count
from piolet.tui.completion import Suggestion
from piolet.tui.fuzzy import rank
from piolet.tui.keys import Key
from piolet.tui.panels.list_panel import ListPanel
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

NO_MODEL = (
    "No model can be used yet: /login stores credentials of a provider. Or leave, and set a key (export "
    "ANTHROPIC_API_KEY=...), describe a model of your own in models.json (docs/models.md), or look around without one "
    "(piolet --model demo/scripted)."
)


def no_model(face: Face) -> str:
    """Return what to tell when no model is selected."""
    return "No model is selected: /model chooses one." if face.runtime.services.models.get_available() else NO_MODEL


class Choice(NamedTuple):
    """A model that was chosen; `save`: it becomes the default too."""

    model: Model
    save: bool


async def model(face: Face, rest: str) -> None:
    """``/model [PATTERN]``: an exact name is taken at once, else the list is searched for it."""
    models = _reloaded(face)
    exact = [one for one in models if rest in (one.key, one.id)]
    if len(exact) == 1:
        await use(face, exact[0])
        return
    await _choose(face, models, rest)


async def complete_model(face: Face, prefix: str) -> Sequence[Suggestion]:
    """Complete the name of a model."""
    models = face.runtime.services.models.get_available()
    found = rank(prefix, models, lambda one: f"{one.id} {one.provider}")
    return [Suggestion(one.key, one.id, one.provider) for one in found]


async def select_model(face: Face, query: str = "") -> None:
    """Show the models and use the one that is chosen."""
    await _choose(face, _reloaded(face), query)


async def _choose(face: Face, models: Sequence[Model], query: str) -> None:
    if not models:
        face.presenter.error(NO_MODEL)
        return
    scope = [scoped.model for scoped in face.runtime.session.scope]
    choice = await face.ask(partial(_panel, face, models, scope, query))
    if choice is None:
        return
    await use(face, choice.model)
    if choice.save:
        files = face.runtime.services.files
        files.set(Settings.default_provider, choice.model.provider)
        files.set(Settings.default_model, choice.model.id)
        face.presenter.status(f"Model: {choice.model.id}, the default from now on")


def _reloaded(face: Face) -> Sequence[Model]:
    """Return the models that can be used now: models.json may have been edited meanwhile."""
    models = face.runtime.services.models
    models.reload()
    if models.error:
        face.presenter.error(models.error)
    return models.get_available()


async def use(face: Face, model: Model) -> None:
    """Use `model` from the next request on."""
    await face.runtime.session.set_model(model.provider, model.id)
    face.presenter.status(f"Model: {model.id}{level_words(face)}")


async def cycle(face: Face, step: int) -> None:
    """Use the next model of the scope, or the one before."""
    found = await face.runtime.session.cycle_model(step)
    if found is None:
        face.presenter.status("There is no other model to switch to")
    else:
        face.presenter.status(f"Switched to {found.name or found.id}{level_words(face)}")


def _panel(
    face: Face, models: Sequence[Model], scope: Sequence[Model], query: str, done: Callable[[Choice | None], None]
) -> ListPanel[Model]:
    settings = face.runtime.services.settings
    default = (settings.default_provider, settings.default_model)
    current = face.runtime.session.model

    def item(one: Model) -> Item[Model]:
        note = " · default" if (one.provider, one.id) == default else ""
        is_current = current is not None and one.key == current.key
        return Item(one, one.id, f"({one.name}) [{one.provider}]{note}", current=is_current)

    def ordered(listed: Sequence[Model]) -> list[Item[Model]]:
        return sorted(map(item, listed), key=lambda one: not one.current)

    save = face.keymap.label("app.models.save")
    hints = ["Enter use · " + (f"{save} use and make the default" if save else "")]
    panel: ListPanel[Model]
    if scope:
        panel = _ScopedPanel(face, ordered(models), ordered(scope), query, done, hints)
    else:
        panel = ListPanel(
            "Model",
            ordered(models),
            lambda one: done(Choice(one, False)),
            lambda: done(None),
            keymap=face.keymap,
            hints=hints,
            query=query,
            search=True,
        )
    panel.details = describe
    panel.actions = {"app.models.save": lambda one: done(Choice(one, True))}
    return panel


class _ScopedPanel(ListPanel[Model]):
    """The list of models when some are scoped: Tab changes between those and all."""

    def __init__(
        self,
        face: Face,
        everything: Sequence[Item[Model]],
        scope: Sequence[Item[Model]],
        query: str,
        done: Callable[[Choice | None], None],
        hints: Sequence[str],
    ) -> None:
        self._lists = {"Scoped": scope, "All": everything}
        self._shown = "Scoped"
        self._hints = hints
        super().__init__(
            "Model",
            scope,
            lambda one: done(Choice(one, False)),
            lambda: done(None),
            keymap=face.keymap,
            query=query,
            search=True,
        )
        self._name_lists()

    def _name_lists(self) -> None:
        marks = " | ".join(f"{'◉' if name == self._shown else '○'} {name}" for name in self._lists)
        self.hints = [f"{marks} · Tab changes", *self._hints]

    def handle(self, key: Key) -> bool:
        if not self.keymap.matches(key, "tui.input.tab"):
            return super().handle(key)
        self._shown = "All" if self._shown == "Scoped" else "Scoped"
        self._name_lists()
        self.show(self._lists[self._shown])
        return True


def describe(model: Model) -> str:
    """Return what is worth knowing of a model, in a line."""
    words = [model.key, f"{count(model.context_window)} context", f"{count(model.max_tokens)} output"]
    if model.reasoning:
        words.append("thinks")
    if "image" in model.input:
        words.append("sees images")
    if model.cost.input or model.cost.output:
        words.append(f"${model.cost.input:g} in, ${model.cost.output:g} out per million")
    return " · ".join(words)
