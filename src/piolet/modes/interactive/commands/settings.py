"""``/settings``: what can be changed on a screen; it is written to the user's file at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from piolet.app.settings import Key, Mermaid, Settings
from piolet.llm.messages import THINKING_LEVELS
from piolet.modes.interactive.commands.theme import choose_theme_setting
from piolet.modes.interactive.settings_panel import SettingRow, SettingsPanel
from piolet.tui.select_list import Item

if TYPE_CHECKING:
    from piolet.modes.interactive.face import Face

_ON_OFF = (True, False)
_QUEUES = ("one-at-a-time", "all")
_TIMEOUTS = (60_000, 300_000, 900_000, 0)
_WIDTHS = (60, 80, 120, 40)
_WHEEL = (None, 1, 3, 5, 10)


async def settings(face: Face, rest: str) -> None:
    """``/settings``"""
    await face.ask(lambda done: SettingsPanel(rows(face), lambda: done(None), keymap=face.keymap))


def rows(face: Face) -> list[SettingRow]:
    """Return the rows, in the order of the terminal specification, section 10."""

    def row(
        label: str,
        key: Key[Any],
        values: Sequence[Any],
        description: str,
        shown: Callable[[Any], str] = _word,
    ) -> SettingRow:
        def value() -> Any:
            return key.__get__(face.runtime.services.settings, Settings)

        def change() -> None:
            face.runtime.services.files.set(key, _next(value(), values))
            face.opened.show_services()

        return SettingRow(label, lambda: shown(value()), face.guarded(change), description)

    def queue(label: str, name: Literal["steering", "follow_up"], description: str) -> SettingRow:
        def value() -> str:
            agent = face.runtime.session.harness.agent
            return (agent.steering if name == "steering" else agent.follow_ups).mode

        def change() -> None:
            face.runtime.session.set_queue_mode(name, "all" if value() == "one-at-a-time" else "one-at-a-time")

        return SettingRow(label, value, face.guarded(change), description)

    def compaction() -> None:
        face.runtime.session.set_auto_compaction(not face.runtime.session.auto_compaction)
        face.refresh()

    def opens(label: str, value: Callable[[], str], work: Callable[[Face], Any], description: str) -> SettingRow:
        return SettingRow(label, value, lambda: face.start(work(face)), description)

    pictures = [
        row("Show images", Settings.show_images, _ON_OFF, "Draw images in the transcript; else a line tells of them"),
        row("Image width", Settings.image_width_cells, _WIDTHS, "Columns that an image takes at most"),
    ]
    return [
        SettingRow(
            "Auto-compact",
            lambda: _word(face.runtime.session.auto_compaction),
            face.guarded(compaction),
            "Summarize old parts of the conversation by itself when the context is nearly full",
        ),
        *(pictures if face.looks.caps.images != "none" else ()),
        row("Auto-resize images", Settings.image_auto_resize, _ON_OFF, "Make large images smaller before sending them"),
        row("Block images", Settings.block_images, _ON_OFF, "Never send images to a model"),
        row("Skill commands", Settings.enable_skill_commands, _ON_OFF, "Suggest skills as /skill:name commands"),
        row("Show hardware cursor", Settings.show_hardware_cursor, _ON_OFF, "Show the terminal's own cursor too"),
        row("Animations", Settings.animations, _ON_OFF, "A sign that turns and times that count while work goes on"),
        row("Editor padding", Settings.editor_padding_x, range(4), "Blank columns left and right in the editor"),
        row("Output padding", Settings.output_pad, (1, 0), "Blank columns left and right of text"),
        row(
            "Autocomplete max items",
            Settings.autocomplete_max_visible,
            (3, 5, 7, 10, 15, 20),
            "Rows of the list of suggestions",
        ),
        row(
            "Terminal progress",
            Settings.show_terminal_progress,
            _ON_OFF,
            "Show in the terminal's tab that work goes on",
        ),
        queue("Steering mode", "steering", "Deliver one steering message at a time, or all that wait"),
        queue("Follow-up mode", "follow_up", "Deliver one follow-up message at a time, or all that wait"),
        row(
            "HTTP idle timeout",
            Settings.http_idle_timeout_ms,
            _TIMEOUTS,
            "How long a request may bring nothing until it is given up",
            lambda milliseconds: f"{milliseconds / 1000:g} s" if milliseconds else "never",
        ),
        row("Hide thinking", Settings.hide_thinking_block, _ON_OFF, "Show one line in place of thinking"),
        row(
            "Mermaid diagrams",
            Settings.mermaid,
            get_args(Mermaid),
            "Draw them: when an answer is complete, or as soon as a diagram is",
        ),
        row(
            "Cache miss notices",
            Settings.show_cache_miss_notices,
            _ON_OFF,
            "Tell when a provider's prompt cache did not give back what it held",
        ),
        row(
            "Collapse changelog", Settings.collapse_changelog, _ON_OFF, "After an update show one line, not the changes"
        ),
        row(
            "Quiet startup",
            Settings.quiet_startup,
            (False, "header", True),
            "Show less at the start: header only, or nothing",
        ),
        row(
            "Default project trust",
            Settings.default_project_trust,
            ("ask", "always", "never"),
            "Whether files of a project without a stored decision are loaded",
        ),
        row(
            "Double-escape action",
            Settings.double_escape_action,
            ("tree", "fork", "none"),
            "What Escape does when pressed twice on an empty editor",
        ),
        row(
            "Tree filter mode",
            Settings.tree_filter_mode,
            ("default", "no-tools", "user-only", "labeled-only", "all"),
            "What the session tree shows at first",
        ),
        opens(
            "Default thinking level per model...",
            lambda: str(len(face.runtime.services.settings.model_thinking_levels) or "none"),
            _model_levels,
            "Levels that sessions with a model begin with",
        ),
        SettingRow(
            "TUI mode",
            lambda: face.mode,
            face.guarded(lambda: face.set_mode("fullscreen" if face.mode == "regular" else "regular")),
            "A screen of its own, or the terminal's own scrollback",
        ),
        row(
            "Fullscreen exit output",
            Settings.fullscreen_exit_output,
            ("transcript", "resume-hint"),
            "What is left in the terminal after leaving",
        ),
        row("Fullscreen scrollbar", Settings.fullscreen_scrollbar, ("auto", "always", "hidden"), "When it is shown"),
        row(
            "Fullscreen copy on select",
            Settings.fullscreen_copy_on_select,
            _ON_OFF,
            "Copy what is selected with the mouse at once",
        ),
        row(
            "Fullscreen wheel scrolling",
            Settings.fullscreen_wheel_scroll_lines,
            _WHEEL,
            "Lines for a step of the wheel",
        ),
        opens(
            "Theme...",
            lambda: face.theme_setting or "system",
            choose_theme_setting,
            "Colours; system follows the terminal",
        ),
    ]


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


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "auto" if value is None else str(value)
