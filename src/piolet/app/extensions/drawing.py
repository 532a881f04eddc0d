"""Which tools extensions draw, how they change text on its way to the screen, and which keys they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from piolet.app.extensions.definitions import Drawn, MarkdownContext, ShortcutDefinition
from piolet.tui.keys import normalize

if TYPE_CHECKING:
    from piolet.app.extensions.extension import Extension
    from piolet.app.extensions.runner import ExtensionRunner

#: Actions whose keys extensions cannot take; a dot at the end means a group.
RESERVED: Final = (
    *("app.interrupt", "app.clear", "app.exit", "app.suspend", "app.model.", "app.thinking.", "app.tools.expand"),
    *("app.editor.external", "app.message.copy", "app.message.followUp", "tui.input.submit", "tui.input.copy"),
    *("tui.select.confirm", "tui.select.cancel", "tui.editor.deleteToLineEnd"),
)


class ToolSlots(Struct, frozen=True):
    """How calls of a tool are drawn: None in a slot leaves it to the built-in renderer. `shell` "self": no frame.
    `owner`: whose renderers they are."""

    call: Callable[..., Drawn] | None = None
    result: Callable[..., Drawn] | None = None
    shell: Literal["default", "self"] = "default"
    owner: Extension | None = None


class Drawing:
    """Finds what the extensions of `runner` registered for the screen. What fails once is not asked again."""

    def __init__(self, runner: ExtensionRunner) -> None:
        self._runner = runner
        self._failed: set[object] = set()

    def tool_slots(self, name: str) -> ToolSlots:
        """Return how calls of the tool `name` are drawn where extensions have a say.

        Resolvers are asked in load order; each may call ``next()`` for what the others and the tool itself say.
        """
        extensions = self._runner.extensions
        resolvers = [(extension, resolve) for extension in extensions for resolve in extension.tool_renderers]

        def resolve_from(place: int) -> ToolSlots:
            if place == len(resolvers):
                extension, tool = self._runner.tool(name)
                if tool is None:
                    return ToolSlots()
                return ToolSlots(tool.render_call, tool.render_result, tool.render_shell, extension)
            extension, resolve = resolvers[place]
            found = self._attempt(extension, "tool renderer", resolve, name, lambda: resolve_from(place + 1))
            return resolve_from(place + 1) if found is None else _as_slots(found, extension)

        return resolve_from(0)

    def transform_markdown(self, text: str, context: MarkdownContext) -> str:
        """Return `text` as the transformers change it, one after the other; one that fails is left out."""
        for extension in self._runner.extensions:
            for transformer in extension.markdown_transformers:
                if context.message_type not in transformer.message_types:
                    continue
                changed = self._attempt(extension, "markdown transformer", transformer.transform, text, context)
                text = changed if isinstance(changed, str) else text
        return text

    def shortcuts(
        self, keys: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, tuple[Extension, ShortcutDefinition]], list[tuple[Extension, str]]]:
        """Return the shortcuts by key, and what is wrong with others. `keys`: those of every action of the program.

        Of two for one key the last wins; reserved keys cannot be taken.
        """
        reserved = {
            normalize(key): action
            for action, bound in keys.items()
            for key in bound
            if any(action == one or (one.endswith(".") and action.startswith(one)) for one in RESERVED)
        }
        taken: dict[str, tuple[Extension, ShortcutDefinition]] = {}
        problems: list[tuple[Extension, str]] = []
        for extension in self._runner.extensions:
            for shortcut in extension.shortcuts.values():
                key = normalize(shortcut.key)
                if key in reserved:
                    problem = f"the key {shortcut.key} belongs to {reserved[key]} and cannot be taken"
                    problems.append((extension, problem))
                    continue
                if key in taken:
                    problems.append((extension, f"the key {shortcut.key} is taken away from {taken[key][0].path}"))
                taken[key] = (extension, shortcut)
        return taken, problems

    def _attempt(self, extension: Extension, what: str, ask: Callable[..., Any], *arguments: object) -> Any:
        """Return what `ask` gives; None if it fails, or has failed."""
        if ask in self._failed:
            return None
        try:
            return ask(*arguments)
        except Exception as error:
            self._failed.add(ask)
            self._runner.report(extension, what, error)
            return None


def _as_slots(value: Any, owner: Extension) -> ToolSlots:
    return value if isinstance(value, ToolSlots) else ToolSlots(**dict(value), owner=owner)
