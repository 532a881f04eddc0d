"""Settings as the program sees them: one typed attribute per key, over the user's values and the project's.

Every key, its default and its meaning: the resources specification, section 8. A value of the wrong JSON type counts
as absent; one of the right type is handed on as it stands in the file, unless a key says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args, overload

from msgspec import Struct
from msgspec.structs import fields, replace

from piolet.base.paths import is_possible
from piolet.harness.compaction.settings import BranchSummarySettings, CompactionSettings

T = TypeVar("T")

CacheWarming: TypeAlias = Literal["off", "streaming", "idle"]
TuiMode: TypeAlias = Literal["regular", "fullscreen"]
ExitOutput: TypeAlias = Literal["transcript", "resume-hint"]
Scrollbar: TypeAlias = Literal["auto", "always", "hidden"]
Mermaid: TypeAlias = Literal["off", "final", "streaming"]
CodemodeMode: TypeAlias = Literal["on", "only"]
ShareDestination: TypeAlias = Literal["auto", "gist", "radius"]
TreeFilterMode: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
DefaultProjectTrust: TypeAlias = Literal["ask", "always", "never"]

BUILT_IN_TOOLS = ("read", "bash", "edit", "write")


class SettingsError(Exception):
    """A settings file or value that cannot be used; the text names the file or key and what is wrong."""


class RetrySettings(Struct, frozen=True):
    """Retries of a failed turn. Milliseconds."""

    enabled: bool = True
    max_retries: int = 3
    base_delay_ms: int = 2000
    max_agent_delay_ms: int = 60000


class ProviderRetrySettings(Struct, frozen=True):
    """Retries of one request, below the agent. Milliseconds; None leaves it to the transport."""

    timeout_ms: int | None = None
    max_retries: int | None = None
    max_retry_delay_ms: int = 60000


class Key(Struct, Generic[T], frozen=True):
    """One setting: where it stands (a dotted path), its default, and how a JSON value is read.

    `read` returns None for a value that counts as absent, and raises ValueError for one that must not be ignored.
    `limits`: what a written number is clamped to. `user_only`: the project's file has no say.
    """

    path: str
    default: T
    read: Callable[[Any], T | None]
    limits: tuple[int, int] | None = None
    user_only: bool = False

    @overload
    def __get__(self, instance: None, owner: type[Settings]) -> Key[T]: ...
    @overload
    def __get__(self, instance: Settings, owner: type[Settings]) -> T: ...
    def __get__(self, instance: Settings | None, owner: type[Settings]) -> Key[T] | T:
        if instance is None:
            return self
        try:
            value = self.read(lookup(instance.user if self.user_only else instance.merged, self.path))
        except ValueError as error:
            raise SettingsError(f"setting {self.path}: {error}") from None
        return self.default if value is None else value


# ------------------------------------------------------------------------------------------------- reading one value


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _place(value: Any) -> str | None:
    """Where tools act: what cannot be one must not be taken for no sandbox."""
    if value is not None and not (isinstance(value, str) and value):
        raise ValueError(f"{value!r} is no place for tools to act; write a text such as sandbox")
    return value


def _int(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value in (inf, -inf):
        return None
    return int(value)


def _strings(value: Any) -> Sequence[str] | None:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else None


def _one_of(choices: tuple[T, ...]) -> Callable[[Any], T | None]:
    return lambda value: next((choice for choice in choices if choice == value), None)


def _mapping_of(read: Callable[[Any], T | None]) -> Callable[[Any], Mapping[str, T] | None]:
    def read_mapping(value: Any) -> Mapping[str, T] | None:
        if not isinstance(value, dict):
            return None
        found = {key: read(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item is not None}

    return read_mapping


def _path(value: Any) -> str | None:
    return os.path.expanduser(value) if isinstance(value, str) else None


def _folder(value: Any) -> str | None:
    path = _path(value)
    if path is not None and not is_possible(path):
        raise ValueError(f"{value!r} cannot be a folder")
    return path


def _timeout(value: Any) -> int | None:
    """Milliseconds; 0 means none. A text that looks like a number counts, and ``disabled`` is 0."""
    if value is None:
        return None
    if isinstance(value, str) and value.strip().lower() == "disabled":
        return 0
    try:
        number = None if isinstance(value, bool) else int(float(value))
    except (ValueError, TypeError, OverflowError):
        number = None
    if number is None or number < 0:
        raise ValueError(f'{value!r} is no number of milliseconds; use one that is not negative, or "disabled"')
    return number


def _tokens(value: Any) -> int | None:
    if value is None:
        return None
    number = _int(value)
    if number is None or number < 0 or number != value:
        raise ValueError(f"{value!r} is no number of tokens; use a whole number that is not negative")
    return number


def _wheel_lines(value: Any) -> int | None:
    number = _int(value)
    return None if number is None else min(max(number, 1), 100)


def _image_width(value: Any) -> int | None:
    number = _int(value)
    return None if number is None else max(number, 1)


def _choice(path: str, choices: Any, default: T, *, user_only: bool = False) -> Key[T]:
    return Key(path, default, _one_of(get_args(choices)), user_only=user_only)


def _flag(path: str, default: bool, *, user_only: bool = False) -> Key[bool]:
    return Key(path, default, _bool, user_only=user_only)


def _text(path: str, default: str, *, user_only: bool = False) -> Key[str]:
    return Key(path, default, _str, user_only=user_only)


def _maybe_text(path: str, *, user_only: bool = False) -> Key[str | None]:
    return Key(path, None, _str, user_only=user_only)


def _number(path: str, default: int, limits: tuple[int, int] | None = None) -> Key[int]:
    return Key(path, default, _int, limits)


# ---------------------------------------------------------------------------------------------------------- the keys


class Settings:
    """A view of the settings. `user` and `project` are the two files' values, `merged` the project's over the user's.

    The object stays the same while a session lives; `replace` puts new values under it.
    """

    default_provider = _maybe_text("defaultProvider")
    default_model = _maybe_text("defaultModel")
    default_thinking_level = _maybe_text("defaultThinkingLevel")
    model_thinking_levels: Key[Mapping[str, str]] = Key("modelThinkingLevels", {}, _mapping_of(_str))
    thinking_budgets: Key[Mapping[str, int]] = Key("thinkingBudgets", {}, _mapping_of(_int))
    enabled_models: Key[Sequence[str] | None] = Key("enabledModels", None, _strings)
    transport = _text("transport", "auto")
    http_proxy = _maybe_text("httpProxy", user_only=True)
    http_idle_timeout_ms = Key("httpIdleTimeoutMs", 300000, _timeout)
    websocket_connect_timeout_ms: Key[int | None] = Key("websocketConnectTimeoutMs", None, _timeout)
    cache_warming: Key[CacheWarming] = _choice("cacheWarming", CacheWarming, "idle", user_only=True)

    steering_mode = _text("steeringMode", "one-at-a-time")
    follow_up_mode = _text("followUpMode", "one-at-a-time")
    compaction_model = _maybe_text("piolet.compactionModel")
    environment: Key[str | None] = Key("piolet.environment", None, _place, user_only=True)
    local_servers = _flag("piolet.localServers", True, user_only=True)
    catalog_url = _maybe_text("piolet.catalogUrl", user_only=True)
    shell_path: Key[str | None] = Key("shellPath", None, _path)
    shell_command_prefix = _maybe_text("shellCommandPrefix")
    codemode_mode: Key[CodemodeMode] = _choice("codemode.mode", CodemodeMode, "on")
    codemode_inline_budget = _number("codemode.inlineBudget", 3000)
    session_dir: Key[str | None] = Key("sessionDir", None, _folder)
    image_auto_resize = _flag("images.autoResize", True)
    block_images = _flag("images.blockImages", False)

    default_project_trust: Key[DefaultProjectTrust] = _choice(
        "defaultProjectTrust", DefaultProjectTrust, "ask", user_only=True
    )
    pip_command: Key[Sequence[str] | None] = Key("piolet.pipCommand", None, _strings)
    npm_command: Key[Sequence[str] | None] = Key("npmCommand", None, _strings)
    self_update_command: Key[Sequence[str] | None] = Key("selfUpdateCommand", None, _strings, user_only=True)
    enable_skill_commands = _flag("enableSkillCommands", True)
    session_share_destination: Key[ShareDestination] = _choice("sessionShareDestination", ShareDestination, "auto")
    collapse_changelog = _flag("collapseChangelog", False)
    warn_anthropic_extra_usage = _flag("warnings.anthropicExtraUsage", True)

    theme = _maybe_text("theme")
    tui_mode: Key[TuiMode] = _choice("tuiMode", TuiMode, "fullscreen")
    quiet_startup: Key[bool | Literal["header"]] = Key(
        "quietStartup", False, lambda value: "header" if value == "header" else _bool(value)
    )
    hide_thinking_block = _flag("hideThinkingBlock", False)
    show_cache_miss_notices = _flag("showCacheMissNotices", False)
    external_editor = _maybe_text("externalEditor")
    double_escape_action = _text("doubleEscapeAction", "tree")
    tree_filter_mode: Key[TreeFilterMode] = _choice("treeFilterMode", TreeFilterMode, "default")
    fullscreen_exit_output: Key[ExitOutput] = _choice("fullscreenExitOutput", ExitOutput, "transcript")
    fullscreen_scrollbar: Key[Scrollbar] = _choice("fullscreenScrollbar", Scrollbar, "auto")
    fullscreen_copy_on_select = _flag("fullscreenCopyOnSelect", True)
    #: None: as many as the terminal is used to.
    fullscreen_wheel_scroll_lines: Key[int | None] = Key("fullscreenWheelScrollLines", None, _wheel_lines, (1, 100))
    editor_padding_x = _number("editorPaddingX", 0, (0, 3))
    output_pad = Key("outputPad", 1, lambda value: 0 if _int(value) == 0 else 1, (0, 1))
    autocomplete_max_visible = _number("autocompleteMaxVisible", 5, (3, 20))
    show_hardware_cursor = _flag("showHardwareCursor", False)
    animations = _flag("piolet.animations", True, user_only=True)
    show_images = _flag("terminal.showImages", True)
    image_width_cells = Key("terminal.imageWidthCells", 60, _image_width, (1, 10000))
    clear_on_shrink = _flag("terminal.clearOnShrink", False)
    show_terminal_progress = _flag("terminal.showTerminalProgress", False)
    terminal_hyperlinks: Key[bool | None] = Key("terminal.hyperlinks", None, _bool)
    terminal_images: Key[Literal["kitty", "iterm2", "sixel", False] | None] = Key(
        "terminal.images", None, _one_of(("kitty", "iterm2", "sixel", False))
    )
    terminal_true_color: Key[bool | None] = Key("terminal.trueColor", None, _bool)
    code_block_indent = _text("markdown.codeBlockIndent", "  ")
    mermaid: Key[Mermaid] = _choice("markdown.mermaid", Mermaid, "streaming")

    def __init__(self, user: Mapping[str, Any] | None = None, project: Mapping[str, Any] | None = None) -> None:
        self.replace(user or {}, project or {})

    def replace(self, user: Mapping[str, Any], project: Mapping[str, Any]) -> None:
        """Put other values under this view."""
        self.user = user
        self.project = project
        self.merged = merge_settings(user, project)

    @property
    def default_tools(self) -> list[str]:
        """Names of the built-in tools that are active at the start."""
        return select_tools(_strings(self.merged.get("defaultTools")))

    @property
    def compaction(self) -> CompactionSettings:
        return self._group("compaction", CompactionSettings())

    def compaction_for(self, model_key: str) -> CompactionSettings:
        """Return the compaction settings for the model ``provider/id``, with its overrides."""
        overrides = lookup(self.merged, "compaction.modelOverrides")
        override = overrides.get(model_key) if isinstance(overrides, dict) else None
        if override is not None and not isinstance(override, dict):
            raise SettingsError(f"setting compaction.modelOverrides of {model_key} must be an object")
        return _filled("compaction.modelOverrides", self.compaction, override)

    @property
    def branch_summary(self) -> BranchSummarySettings:
        return self._group("branchSummary", BranchSummarySettings())

    @property
    def retry(self) -> RetrySettings:
        return self._group("retry", RetrySettings())

    @property
    def provider_retry(self) -> ProviderRetrySettings:
        return self._group("retry.provider", ProviderRetrySettings())

    def _group(self, path: str, defaults: T) -> T:
        return _filled(path, defaults, lookup(self.merged, path))


def merge_settings(user: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """Return `project` over `user`: objects are merged key by key, anything else is replaced.

    A project's ``defaultTools`` without plain names (only ``+x``, ``-x``) is appended to the user's list.
    """
    merged = _merge(user, project)
    ours, theirs = user.get("defaultTools"), project.get("defaultTools")
    if isinstance(ours, list) and isinstance(theirs, list) and all(map(_is_modifier, theirs)):
        merged["defaultTools"] = [*ours, *theirs]
    return merged


def select_tools(listed: Sequence[str] | None) -> list[str]:
    """Return the tools that a ``defaultTools`` list chooses: plain names replace the usual ones, +x and -x modify."""
    if listed is None:
        return list(BUILT_IN_TOOLS)
    plain = [name for name in listed if not _is_modifier(name)]
    chosen = dict.fromkeys(plain if plain or not listed else BUILT_IN_TOOLS)
    for name in listed:
        if name.startswith("+") and len(name) > 1:
            chosen[name[1:]] = None
        elif name.startswith("-"):
            chosen.pop(name[1:], None)
    return list(chosen)


def lookup(values: Mapping[str, Any], path: str) -> Any:
    """Return what stands at the dotted `path`, None if nothing does."""
    found: Any = values
    for part in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _merge(user: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(user)
    for key, value in project.items():
        ours = merged.get(key)
        merged[key] = _merge(ours, value) if isinstance(ours, dict) and isinstance(value, dict) else value
    return merged


def _is_modifier(name: Any) -> bool:
    return isinstance(name, str) and name[:1] in ("+", "-")


def _filled(path: str, defaults: T, values: Any) -> T:
    """Return the record `defaults` with those of its fields that the JSON object `values` gives in the right type."""
    if not isinstance(values, dict):
        return defaults
    changes: dict[str, Any] = {}
    for field in fields(defaults):  # type: ignore[arg-type]
        head, *rest = field.name.split("_")
        name = head + "".join(part.title() for part in rest)
        read: Callable[[Any], Any] = _bool if field.type is bool else _int
        if isinstance(defaults, CompactionSettings) and read is _int:
            read = _tokens
        try:
            value = read(values.get(name))
        except ValueError as error:
            raise SettingsError(f"setting {path}.{name}: {error}") from None
        if value is not None:
            changes[field.name] = value
    return replace(defaults, **changes)  # type: ignore[type-var]
