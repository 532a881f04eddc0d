"""Messages, entries and tool calls as extensions draw them. What raises is drawn as if nobody had offered to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from piolet.agent.tools import ToolResult
from piolet.app.extensions.definitions import MarkdownContext, MessageType, RenderOptions
from piolet.app.extensions.runner import ExtensionRunner
from piolet.app.renderers.generic import GENERIC
from piolet.app.renderers.registry import BUILT_IN
from piolet.app.renderers.view import ToolRenderer, ToolView
from piolet.harness.messages import CustomMessage
from piolet.harness.session.entries import CustomEntry
from piolet.llm.messages import image
from piolet.llm.messages import text as text_block
from piolet.tui.blocks.frame import Frame, inset
from piolet.tui.component import Component, Text, component_lines
from piolet.tui.spans import Line

if TYPE_CHECKING:
    from piolet.app.extensions.definitions import Drawn
    from piolet.app.extensions.drawing import ToolSlots
    from piolet.tui.ui_theme import UiTheme


class Canvas(Protocol):
    """Where it is drawn. `attempt` returns what a call returns; None, and the owner's fault is told, if it raises."""

    theme: UiTheme

    def attempt(self, owner: object, call: Callable[[], Any]) -> Any: ...


class Renderers:
    """What the extensions of `runner` draw."""

    def __init__(self, runner: ExtensionRunner, canvas: Canvas) -> None:
        self._runner = runner
        self._canvas = canvas
        self._failed: set[object] = set()

    def message(self, message: CustomMessage, frame: Frame) -> Sequence[Line] | None:
        """Return a custom message as lines; None: nobody draws it."""
        for extension in self._runner.extensions:
            if render := extension.message_renderers.get(message.custom_type):
                return self._inset(extension, render, message, frame)
        return None

    def entry(self, entry: CustomEntry, frame: Frame) -> Sequence[Line] | None:
        """Return a custom entry as lines; None: nobody draws it."""
        for extension in self._runner.extensions:
            if render := extension.entry_renderers.get(entry.custom_type):
                return self._inset(extension, render, entry, frame)
        return None

    def draws_entries(self, custom_type: str) -> bool:
        """Whether somebody draws entries of a type."""
        return any(custom_type in extension.entry_renderers for extension in self._runner.extensions)

    def transformer(self, message_type: MessageType) -> Callable[[str, bool], str] | None:
        """Return what changes the text of messages, which may still be growing, before it is drawn; None: nothing."""
        transformers = (one for extension in self._runner.extensions for one in extension.markdown_transformers)
        if not any(message_type in one.message_types for one in transformers):
            return None
        transform = self._runner.drawing.transform_markdown
        return lambda text, growing: transform(text, MarkdownContext(message_type, growing))

    def _inset(self, owner: object, render: Callable[..., Drawn], value: object, frame: Frame) -> list[Line] | None:
        options = RenderOptions(frame.expanded, frame.text_width)
        lines = self.draw(owner, render, frame.text_width, value, options, self._canvas.theme)
        return None if lines is None else inset(lines, frame)

    def draw(self, owner: object, render: Callable[..., Drawn], width: int, *arguments: object) -> list[Line] | None:
        """Return what `render` draws; None if it leaves that to others. A renderer that raised is not asked again."""
        if render in self._failed:
            return None
        drawn = self._canvas.attempt(owner, lambda: (_lines(render(*arguments), width),))
        if drawn is None:
            self._failed.add(render)
            return None
        lines: list[Line] | None = drawn[0]
        return lines


def _lines(drawn: Drawn, width: int) -> list[Line] | None:
    if drawn is None:
        return None
    component: Component = Text(drawn) if isinstance(drawn, str) else drawn
    return component_lines(component, width)


class ToolRenderers(Mapping[str, ToolRenderer]):
    """The built-in renderers with those of the extensions' tools laid over them, slot by slot."""

    def __init__(self, renderers: Renderers, runner: ExtensionRunner, canvas: Canvas) -> None:
        self._renderers, self._runner, self._canvas = renderers, runner, canvas

    def __getitem__(self, name: str) -> ToolRenderer:
        slots = self._runner.drawing.tool_slots(name)
        return self._overlaid(name, slots) if slots.call or slots.result else BUILT_IN[name]

    def __iter__(self) -> Iterator[str]:
        return iter({*BUILT_IN, *(name for extension in self._runner.extensions for name in extension.tools)})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def drawn_by_extensions(self, name: str) -> bool:
        """Whether an extension has a say in how calls of the tool `name` look."""
        slots = self._runner.drawing.tool_slots(name)
        return slots.call is not None or slots.result is not None

    def _overlaid(self, name: str, slots: ToolSlots) -> ToolRenderer:
        usual, theme = BUILT_IN.get(name, GENERIC), self._canvas.theme
        boxed = slots.shell != "self"

        def draw(render: Callable[..., Drawn], view: ToolView, frame: Frame, *first: Any) -> Sequence[Line] | None:
            width = frame.box_width if boxed else frame.width
            options = RenderOptions(frame.expanded, width, view.state != "done", view.is_error)
            return self._renderers.draw(slots.owner, render, width, *first, options, theme)

        def call(view: ToolView, frame: Frame) -> Sequence[Line]:
            own = draw(slots.call, view, frame, dict(view.args)) if slots.call else None
            return usual.call(view, frame) if own is None else own

        def body(view: ToolView, frame: Frame) -> Sequence[Line]:
            own = None
            if slots.result and view.state != "arguments":
                images = [image(picture.data, picture.mime_type) for picture in view.pictures]
                result = ToolResult([text_block(view.text), *images], details=view.details)
                own = draw(slots.result, view, frame, result)
            return usual.body(view, frame) if own is None else own

        return ToolRenderer(call, body, boxed)
