"""``/settings``: what can be changed on a screen; it is written to the user's file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from piolet.app.settings import Key, Mermaid, Settings
from piolet.llm.messages import THINKING_LEVELS
from piolet.modes.interactive.commands.theme import choose_theme_setting
from piolet.modes.interactive.settings_panel import SettingRow, SettingsPanel
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "auto" if value is None else str(value)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s" if milliseconds else "never"


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting that goes from one of `values` to the next; `shown` gives the word for each."""

    label: str
    key: Key[Any]
    values: Sequence[Any]
    description: str
    shown: Callable[[Any], str] = _word


_ON_OFF = (True, False)
_LIST_ROWS = (3, 5, 7, 10, 15, 20)
_TIMEOUTS = (60_000, 300_000, 900_000, 0)
_WIDTHS = (60, 80, 120, 40)
_WHEEL = (None, 1, 3, 5, 10)
_TREE_FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")

_PICTURES = (
    Choice("Show images", Settings.show_images, _ON_OFF, "Draw images in the transcript; else a line tells of them"),
    Choice("Image width", Settings.image_width_cells, _WIDTHS, "Columns that an image takes at most"),
)
_EDITING = (
    Choice("Auto-resize images", Settings.image_auto_resize, _ON_OFF, "Make large images smaller before sending them"),
    Choice("Block images", Settings.block_images, _ON_OFF, "Never send images to a model"),
    Choice("Skill commands", Settings.enable_skill_commands, _ON_OFF, "Suggest skills as /skill:name commands"),
    Choice("Show hardware cursor", Settings.show_hardware_cursor, _ON_OFF, "Show the terminal's own cursor too"),
    Choice("Animations", Settings.animations, _ON_OFF, "A sign that turns and times that count while work goes on"),
    Choice("Editor padding", Settings.editor_padding_x, range(4), "Blank columns left and right in the editor"),
    Choice("Output padding", Settings.output_pad, (1, 0), "Blank columns left and right of text"),
    Choice("Autocomplete max items", Settings.autocomplete_max_visible, _LIST_ROWS, "Rows of the list of suggestions"),
    Choice(
        "Terminal progress", Settings.show_terminal_progress, _ON_OFF, "Show in the terminal's tab that work goes on"
    ),
)
_PROGRAM = (
    Choice(
        "HTTP idle timeout",
        Settings.http_idle_timeout_ms,
        _TIMEOUTS,
        "How long a request may bring nothing until it is given up",
        _seconds,
    ),
    Choice("Hide thinking", Settings.hide_thinking_block, _ON_OFF, "Show one line in place of thinking"),
    Choice(
        "Mermaid diagrams",
        Settings.mermaid,
        get_args(Mermaid),
        "Draw them: when an answer is complete, or as soon as a diagram is",
    ),
    Choice(
        "Cache miss notices",
        Settings.show_cache_miss_notices,
        _ON_OFF,
        "Tell when a provider's prompt cache did not give back what it held",
    ),
    Choice(
        "Collapse changelog", Settings.collapse_changelog, _ON_OFF, "After an update show one line, not the changes"
    ),
    Choice(
        "Quiet startup",
        Settings.quiet_startup,
        (False, "header", True),
        "Show less at the start: header only, or nothing",
    ),
    Choice(
        "Default project trust",
        Settings.default_project_trust,
        ("ask", "always", "never"),
        "Whether files of a project without a stored decision are loaded",
    ),
    Choice(
        "Double-escape action",
        Settings.double_escape_action,
        ("tree", "fork", "none"),
        "What Escape does when pressed twice on an empty editor",
    ),
    Choice("Tree filter mode", Settings.tree_filter_mode, _TREE_FILTERS, "What the session tree shows at first"),
)
_FULLSCREEN = (
    Choice(
        "Fullscreen exit output",
        Settings.fullscreen_exit_output,
        ("transcript", "resume-hint"),
        "What is left in the terminal after leaving",
    ),
    Choice("Fullscreen scrollbar", Settings.fullscreen_scrollbar, ("auto", "always", "hidden"), "When it is shown"),
    Choice(
        "Fullscreen copy on select",
        Settings.fullscreen_copy_on_select,
        _ON_OFF,
        "Copy what is selected with the mouse at once",
    ),
    Choice(
        "Fullscreen wheel scrolling", Settings.fullscreen_wheel_scroll_lines, _WHEEL, "Lines for a step of the wheel"
    ),
)


async def settings(face: Face, rest: str) -> None:
    """``/settings``"""
    await face.ask(lambda done: SettingsPanel(rows(face), lambda: done(None), keymap=face.keymap))


def rows(face: Face) -> list[SettingRow]:
    """Return the rows, in the order of the terminal specification, section 10."""
    return [
        SettingRow(
            "Auto-compact",
            lambda: _word(face.runtime.session.auto_compaction),
            face.guarded(lambda: _toggle_compaction(face)),
            "Summarize old parts of the conversation by itself when the context is nearly full",
        ),
        *(_choices(face, _PICTURES) if face.looks.caps.images != "none" else ()),
        *_choices(face, _EDITING),
        _queue(face, "Steering mode", "steering", "Deliver one steering message at a time, or all that wait"),
        _queue(face, "Follow-up mode", "follow_up", "Deliver one follow-up message at a time, or all that wait"),
        *_choices(face, _PROGRAM),
        SettingRow(
            "Default thinking level per model...",
            lambda: str(len(face.runtime.services.settings.model_thinking_levels) or "none"),
            lambda: face.start(_model_levels(face)),
            "Levels that sessions with a model begin with",
        ),
        SettingRow(
            "TUI mode",
            lambda: face.mode,
            face.guarded(lambda: face.set_mode("fullscreen" if face.mode == "regular" else "regular")),
            "A screen of its own, or the terminal's own scrollback",
        ),
        *_choices(face, _FULLSCREEN),
        SettingRow(
            "Theme...",
            lambda: face.theme_setting or "system",
            lambda: face.start(choose_theme_setting(face)),
            "Colours; system follows the terminal",
        ),
    ]


def _choices(face: Face, choices: Iterable[Choice]) -> list[SettingRow]:
    return [_choice(face, choice) for choice in choices]


def _choice(face: Face, choice: Choice) -> SettingRow:
    def value() -> Any:
        return choice.key.__get__(face.runtime.services.settings, Settings)

    def change() -> None:
        face.runtime.services.files.set(choice.key, _next(value(), choice.values))
        face.opened.show_services()

    return SettingRow(choice.label, lambda: choice.shown(value()), face.guarded(change), choice.description)


def _queue(face: Face, label: str, name: Literal["steering", "follow_up"], description: str) -> SettingRow:
    def value() -> str:
        agent = face.runtime.session.harness.agent
        return (agent.steering if name == "steering" else agent.follow_ups).mode

    def change() -> None:
        face.runtime.session.set_queue_mode(name, "all" if value() == "one-at-a-time" else "one-at-a-time")

    return SettingRow(label, value, face.guarded(change), description)


def _toggle_compaction(face: Face) -> None:
    face.runtime.session.set_auto_compaction(not face.runtime.session.auto_compaction)
    face.refresh()


async def _model_levels(face: Face) -> None:
    """Choose the level that sessions with the present model begin with."""
    model = face.runtime.session.model
    if model is None:
        face.presenter.error("No model is selected")
        return
    known = face.runtime.services.settings.model_thinking_levels
    levels = [level for level in THINKING_LEVELS if level in face.runtime.session.thinking_levels]
    items = [Item("", "default", current=model.key not in known)]
    items += [Item(str(level), level, current=known.get(model.key) == level) for level in levels]
    chosen = await face.dialogs.choose(f"Thinking level of new sessions with {model.key}", items)
    if chosen is not None:
        face.runtime.services.files.write(("modelThinkingLevels", model.key), chosen or None)


def _next(value: Any, values: Sequence[Any]) -> Any:
    """Return the value behind `value`; the first one behind the last, and for one that is not listed."""
    return values[(values.index(value) + 1) % len(values)] if value in values else values[0]
