"""The records that an extension hands over or gets back: tools, commands, flags, shortcuts, results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from msgspec import Struct, field

from piolet.agent.tools import OnUpdate, ToolResult
from piolet.base.abort import AbortSignal

if TYPE_CHECKING:
    from piolet.app.commands import SourceInfo
    from piolet.app.extensions.api import ExtensionAPI
    from piolet.app.extensions.contexts import CommandContext, ExtensionContext, ToolContext
    from piolet.app.extensions.drawing import ToolSlots
    from piolet.harness.messages import CustomMessage
    from piolet.harness.session.entries import CustomEntry
    from piolet.tui.component import Component
    from piolet.tui.ui_theme import UiTheme

FlagValue: TypeAlias = bool | str
DeliverAs: TypeAlias = Literal["steer", "follow_up", "followUp", "next_turn", "nextTurn"]
Mode: TypeAlias = Literal["tui", "rpc", "json", "print"]
#: What draws itself: a component, a text, or None for the default view.
Drawn: TypeAlias = "Component | str | None"

ExtensionFactory: TypeAlias = "Callable[[ExtensionAPI], Awaitable[None] | None]"
ToolExecute: TypeAlias = "Callable[[str, dict[str, Any], AbortSignal, OnUpdate, ToolContext], Awaitable[ToolResult]]"
CommandHandler: TypeAlias = "Callable[[str, CommandContext], Awaitable[object] | object]"
ShortcutHandler: TypeAlias = "Callable[[ExtensionContext], Awaitable[object] | object]"
MessageRenderer: TypeAlias = "Callable[[CustomMessage, RenderOptions, UiTheme], Drawn]"
EntryRenderer: TypeAlias = "Callable[[CustomEntry, RenderOptions, UiTheme], Drawn]"
RenderCall: TypeAlias = "Callable[[dict[str, Any], RenderOptions, UiTheme], Drawn]"
RenderResult: TypeAlias = "Callable[[ToolResult, RenderOptions, UiTheme], Drawn]"
ToolRendererResolver: TypeAlias = "Callable[[str, Callable[[], ToolSlots]], ToolSlots | Mapping[str, Any] | None]"


class ToolDefinition(Struct, kw_only=True):
    """A tool in its raw form. `parameters` is a JSON Schema of type object.

    `execute(tool_call_id, arguments, signal, on_update, ctx)` gets validated arguments; what it raises becomes an
    error result. `prompt_snippet` and `prompt_guidelines` go into the system prompt. `prepare_arguments` may repair raw
    arguments. `default_active` False: somebody has to switch it on. `output_schema` describes `structured_content`, and
    a result that does not fit is an error. `constrained_sampling`: ``{"type": "json_schema", "strict": "prefer" or
    "require"}``, or ``{"type": "grammar", "variants": {"openai_lark": ...}}``, also "openai_regex"; used where the
    protocol can. The render slots are for screens and the HTML export.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    execute: ToolExecute
    label: str = ""
    prompt_snippet: str | None = None
    prompt_guidelines: Sequence[str] = field(default_factory=list)
    prepare_arguments: Callable[[Any], Any] | None = None
    execution_mode: Literal["parallel", "sequential"] | None = None
    default_active: bool = True
    output_schema: dict[str, Any] | None = None
    constrained_sampling: Any = None
    render_shell: Literal["default", "self"] = "default"
    render_call: RenderCall | None = None
    render_result: RenderResult | None = None


class ToolFields(TypedDict, total=False):
    """The fields of a `ToolDefinition`, each of which may be given by name."""

    name: str
    description: str
    parameters: dict[str, Any]
    execute: ToolExecute
    label: str
    prompt_snippet: str | None
    prompt_guidelines: Sequence[str]
    prepare_arguments: Callable[[Any], Any] | None
    execution_mode: Literal["parallel", "sequential"] | None
    default_active: bool
    output_schema: dict[str, Any] | None
    constrained_sampling: Any
    render_shell: Literal["default", "self"]
    render_call: RenderCall | None
    render_result: RenderResult | None


class ToolInfo(Struct, frozen=True):
    """A tool that exists in the session. `source` is None for a built-in one."""

    name: str
    label: str
    description: str
    parameters: dict[str, Any]
    active: bool
    source: SourceInfo | None = None


class AutocompleteItem(Struct, frozen=True):
    """A proposal: `value` is inserted, `label` shown in its place if it is given."""

    value: str
    label: str = ""
    description: str = ""


#: Proposals for the argument of a command that begins with the text given.
Completer: TypeAlias = (
    "Callable[[str], Sequence[AutocompleteItem | str] | Awaitable[Sequence[AutocompleteItem | str] | None] | None]"
)


class CommandDefinition(Struct, frozen=True):
    """A slash command; `handler(arguments, ctx)` gets the text behind the name as it was typed."""

    name: str
    handler: CommandHandler
    description: str = ""
    complete: Completer | None = None


class ShortcutDefinition(Struct, frozen=True):
    """A key, as in ``keybindings.json``, and what it does."""

    key: str
    handler: ShortcutHandler
    description: str = ""


class FlagDefinition(Struct, frozen=True):
    """An option of the command line, ``--name``."""

    name: str
    type: Literal["boolean", "string"]
    default: FlagValue | None = None
    description: str = ""


class RenderOptions(Struct, frozen=True):
    """How something is to be drawn. `is_partial`: a tool that has not ended yet."""

    expanded: bool
    width: int
    is_partial: bool = False
    is_error: bool = False


MessageType: TypeAlias = Literal["user", "assistant", "assistant-thinking"]


class MarkdownContext(Struct, frozen=True):
    """What text a markdown transformer is asked about."""

    message_type: MessageType
    streaming: bool = False


class MarkdownTransformer(Struct, frozen=True):
    transform: Callable[[str, MarkdownContext], str]
    message_types: Sequence[str]


class ExecResult(Struct, frozen=True):
    """How a program ended. `killed`: by a time-out, an abort or the limit of output. `truncated`: output was cut."""

    stdout: str
    stderr: str
    code: int
    killed: bool
    truncated: bool


class ContextUsage(Struct, frozen=True):
    """How full the model's window is; `tokens` and `percent` are None right after a compaction."""

    tokens: int | None
    context_window: int
    percent: float | None


class Outcome(Struct, frozen=True):
    """Whether a handler, or the user, prevented it."""

    cancelled: bool
