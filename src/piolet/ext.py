"""The public face for extension authors: everything that an extension imports stands here.

The names are those of the extension guide. Each is imported when somebody first asks for it, so that an extension pays
for what it uses only.
"""

# One name a line, not one statement a name:
# isort: skip_file

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piolet.agent.events import (
        AgentEnd as AgentEnd,
        AgentStart as AgentStart,
        MessageStart as MessageStart,
        MessageUpdate as MessageUpdate,
        ToolExecutionEnd as ToolExecutionEnd,
        ToolExecutionStart as ToolExecutionStart,
        ToolExecutionUpdate as ToolExecutionUpdate,
        TurnStart as TurnStart,
    )
    from piolet.agent.function_tools import (
        ToolCallId as ToolCallId,
    )
    from piolet.agent.tools import (
        OnUpdate as OnUpdate,
        ToolResult as ToolResult,
    )
    from piolet.app.commands import (
        SourceInfo as SourceInfo,
    )
    from piolet.app.extensions.api import (
        EventBus as EventBus,
        ExtensionAPI as ExtensionAPI,
    )
    from piolet.app.extensions.contexts import (
        CommandContext as CommandContext,
        ExtensionContext as ExtensionContext,
        ReplacedSessionContext as ReplacedSessionContext,
        ToolContext as ToolContext,
        TrustContext as TrustContext,
    )
    from piolet.app.extensions.definitions import (
        AutocompleteItem as AutocompleteItem,
        CommandDefinition as CommandDefinition,
        CommandHandler as CommandHandler,
        Completer as Completer,
        ContextUsage as ContextUsage,
        DeliverAs as DeliverAs,
        EntryRenderer as EntryRenderer,
        ExecResult as ExecResult,
        ExtensionFactory as ExtensionFactory,
        FlagDefinition as FlagDefinition,
        FlagValue as FlagValue,
        MarkdownContext as MarkdownContext,
        MessageRenderer as MessageRenderer,
        Mode as Mode,
        Outcome as Outcome,
        RenderCall as RenderCall,
        RenderOptions as RenderOptions,
        RenderResult as RenderResult,
        ShortcutDefinition as ShortcutDefinition,
        ShortcutHandler as ShortcutHandler,
        ToolDefinition as ToolDefinition,
        ToolInfo as ToolInfo,
        ToolRendererResolver as ToolRendererResolver,
    )
    from piolet.app.extensions.drawing import (
        ToolSlots as ToolSlots,
    )
    from piolet.app.extensions.errors import (
        CompletionFailed as CompletionFailed,
        StaleContextError as StaleContextError,
    )
    from piolet.app.extensions.model_registry import (
        ModelRegistry as ModelRegistry,
    )
    from piolet.app.extensions.session_view import (
        SessionView as SessionView,
    )
    from piolet.app.extensions.toolkit import (
        conversation_text as conversation_text,
        create_bash_tool as create_bash_tool,
        create_edit_tool as create_edit_tool,
        create_find_tool as create_find_tool,
        create_grep_tool as create_grep_tool,
        create_ls_tool as create_ls_tool,
        create_read_tool as create_read_tool,
        create_write_tool as create_write_tool,
        get_agent_dir as get_agent_dir,
        with_file_mutation_queue as with_file_mutation_queue,
    )
    from piolet.app.extensions.ui import (
        NotifyType as NotifyType,
        Placement as Placement,
        SetThemeResult as SetThemeResult,
        UI as UI,
    )
    from piolet.app.hook_points import (
        BashResult as BashResult,
        BeforeFork as BeforeFork,
        BeforeSwitch as BeforeSwitch,
        Cancel as Cancel,
        ForkDecision as ForkDecision,
        InputEvent as InputEvent,
        InputResult as InputResult,
        ResourcePaths as ResourcePaths,
        ResourcesDiscover as ResourcesDiscover,
        SessionShutdown as SessionShutdown,
        SessionStart as SessionStart,
        UiPrompt as UiPrompt,
        UserBash as UserBash,
        UserBashResult as UserBashResult,
    )
    from piolet.app.prompt import (
        PromptRejected as PromptRejected,
    )
    from piolet.app.settings import (
        Settings as Settings,
    )
    from piolet.app.trust import (
        ProjectTrustEvent as ProjectTrustEvent,
        TrustDecision as TrustDecision,
    )
    from piolet.base.abort import (
        AbortController as AbortController,
        AbortSignal as AbortSignal,
        Aborted as Aborted,
    )
    from piolet.harness.compaction.files import (
        FileOperations as FileOperations,
    )
    from piolet.harness.compaction.hook_points import (
        BeforeCompact as BeforeCompact,
        BeforeTree as BeforeTree,
        CompactDecision as CompactDecision,
        TreeDecision as TreeDecision,
        TreePreparation as TreePreparation,
    )
    from piolet.harness.compaction.settings import (
        CompactionSettings as CompactionSettings,
    )
    from piolet.harness.drafts import (
        CompactionDraft as CompactionDraft,
        ContextEditDraft as ContextEditDraft,
        CustomDraft as CustomDraft,
        CustomMessageDraft as CustomMessageDraft,
        EntryDraft as EntryDraft,
        LabelDraft as LabelDraft,
    )
    from piolet.harness.environments.base import (
        DirectoryEntry as DirectoryEntry,
        Environment as Environment,
        ExitStatus as ExitStatus,
        FileInfo as FileInfo,
        FindQuery as FindQuery,
        FindResult as FindResult,
        GrepLine as GrepLine,
        GrepQuery as GrepQuery,
        GrepResult as GrepResult,
        Snapshot as Snapshot,
    )
    from piolet.harness.environments.container import (
        ContainerEnvironment as ContainerEnvironment,
    )
    from piolet.harness.environments.local import (
        LocalEnvironment as LocalEnvironment,
    )
    from piolet.harness.environments.memory import (
        MemoryEnvironment as MemoryEnvironment,
    )
    from piolet.harness.environments.sandbox import (
        SandboxEnvironment as SandboxEnvironment,
    )
    from piolet.harness.environments.shell import (
        ShellEnvironment as ShellEnvironment,
    )
    from piolet.harness.environments.ssh import (
        SshEnvironment as SshEnvironment,
    )
    from piolet.harness.events import (
        AgentSettled as AgentSettled,
        ModelSelect as ModelSelect,
        SessionCompact as SessionCompact,
        SessionCompactFailed as SessionCompactFailed,
        SessionInfoChanged as SessionInfoChanged,
        SessionTree as SessionTree,
        ThinkingLevelSelect as ThinkingLevelSelect,
    )
    from piolet.harness.hook_points import (
        AfterProviderResponse as AfterProviderResponse,
        BeforeAgentStart as BeforeAgentStart,
        BeforeProviderHeaders as BeforeProviderHeaders,
        BeforeProviderRequest as BeforeProviderRequest,
        BeforeSettleEvent as BeforeSettleEvent,
        Boundary as Boundary,
        ContextEvent as ContextEvent,
        ContextResult as ContextResult,
        MessageEndEvent as MessageEndEvent,
        MessageResult as MessageResult,
        ProviderStreamEvent as ProviderStreamEvent,
        StartResult as StartResult,
        ToolCallEvent as ToolCallEvent,
        ToolCallResult as ToolCallResult,
        ToolResultEvent as ToolResultEvent,
        ToolResultPatch as ToolResultPatch,
        TurnEndEvent as TurnEndEvent,
    )
    from piolet.harness.messages import (
        AgentMessage as AgentMessage,
        BashExecutionMessage as BashExecutionMessage,
        BranchSummaryMessage as BranchSummaryMessage,
        CompactionSummaryMessage as CompactionSummaryMessage,
        CustomMessage as CustomMessage,
    )
    from piolet.harness.navigation import (
        NavigationResult as NavigationResult,
    )
    from piolet.harness.prompt.records import (
        ContextFile as ContextFile,
        PromptInputs as PromptInputs,
        PromptTool as PromptTool,
        Skill as Skill,
    )
    from piolet.harness.session.context import (
        SessionContext as SessionContext,
    )
    from piolet.harness.session.entries import (
        BranchSummaryEntry as BranchSummaryEntry,
        CompactionEntry as CompactionEntry,
        CustomEntry as CustomEntry,
        CustomMessageEntry as CustomMessageEntry,
        Entry as Entry,
        Header as Header,
        MessageEntry as MessageEntry,
    )
    from piolet.harness.session.errors import (
        SessionError as SessionError,
    )
    from piolet.harness.session.session import (
        Session as Session,
    )
    from piolet.harness.session.tree import (
        TreeNode as TreeNode,
    )
    from piolet.harness.tools.options import (
        ShellSpawn as ShellSpawn,
    )
    from piolet.harness.tools.truncate import (
        Truncation as Truncation,
        format_size as format_size,
        truncate_head as truncate_head,
        truncate_tail as truncate_tail,
    )
    from piolet.llm.credentials.errors import (
        CredentialError as CredentialError,
        LoginError as LoginError,
    )
    from piolet.llm.credentials.records import (
        ApiKeyCredential as ApiKeyCredential,
        AuthStatus as AuthStatus,
        Credential as Credential,
        OAuthCredential as OAuthCredential,
        RequestAuth as RequestAuth,
    )
    from piolet.llm.events import (
        AssistantEvent as AssistantEvent,
        DoneEvent as DoneEvent,
        ErrorEvent as ErrorEvent,
        StartEvent as StartEvent,
        TextDelta as TextDelta,
        TextEnd as TextEnd,
        TextStart as TextStart,
        ThinkingDelta as ThinkingDelta,
        ThinkingEnd as ThinkingEnd,
        ThinkingStart as ThinkingStart,
        ToolCallDelta as ToolCallDelta,
        ToolCallEnd as ToolCallEnd,
        ToolCallStart as ToolCallStart,
    )
    from piolet.llm.messages import (
        AssistantMessage as AssistantMessage,
        BaseMessage as BaseMessage,
        Cost as Cost,
        ImageContent as ImageContent,
        Message as Message,
        NO_USAGE as NO_USAGE,
        StopReason as StopReason,
        TextContent as TextContent,
        ThinkingContent as ThinkingContent,
        ThinkingLevel as ThinkingLevel,
        ToolCall as ToolCall,
        ToolResultMessage as ToolResultMessage,
        Usage as Usage,
        UserBlock as UserBlock,
        UserMessage as UserMessage,
        image as image,
        text as text,
        text_of as text_of,
    )
    from piolet.llm.model import (
        Context as Context,
        CostTier as CostTier,
        Model as Model,
        ModelCost as ModelCost,
        StreamOptions as StreamOptions,
        ToolSpec as ToolSpec,
    )
    from piolet.llm.models import (
        Provider as Provider,
    )
    from piolet.llm.oauth.config import (
        LoginConfig as LoginConfig,
    )
    from piolet.llm.oauth.login import (
        Login as Login,
        LoginUI as LoginUI,
    )
    from piolet.llm.patterns import (
        ScopedModel as ScopedModel,
    )
    from piolet.llm.provider_config import (
        ModelPatch as ModelPatch,
        ProviderConfig as ProviderConfig,
    )
    from piolet.llm.stream import (
        AssistantStream as AssistantStream,
        StreamFunction as StreamFunction,
    )
    from piolet.tui.ansi import (
        truncate,
        width,
        wrap,
    )
    from piolet.tui.completion import (
        Suggestion as Suggestion,
    )
    from piolet.tui.component import (
        Box as Box,
        Component as Component,
        Loader as Loader,
        Markdown as Markdown,
        Text as Text,
    )
    from piolet.tui.component_input import (
        Editor as Editor,
        Input as Input,
        SelectList as SelectList,
        Setting as Setting,
        SettingsList as SettingsList,
    )
    from piolet.tui.custom_editor import (
        CustomEditor as CustomEditor,
    )
    from piolet.tui.host import (
        Tui as Tui,
    )
    from piolet.tui.keymap import (
        Keymap as Keymap,
    )
    from piolet.tui.keys import (
        Key as Key,
    )
    from piolet.tui.overlay import (
        OverlayHandle as OverlayHandle,
        OverlayOptions as OverlayOptions,
    )
    from piolet.tui.select_list import (
        Item as Item,
    )
    from piolet.tui.ui_theme import (
        UiTheme as UiTheme,
    )
    from piolet.app.commands import Command
    from piolet.base.frontmatter import parse_fields
    from piolet.harness.compaction.hook_points import BranchSummaryProposal
    from piolet.harness.compaction.hook_points import CompactionProposal
    from piolet.harness.compaction.prepare import Preparation
    from piolet.tui.completion import Sources

    SlashCommandInfo = Command
    CompletionSources = Sources
    truncate_to_width = truncate
    visible_width = width
    wrap_to_width = wrap
    create_bash_tool_definition = create_bash_tool
    create_edit_tool_definition = create_edit_tool
    create_find_tool_definition = create_find_tool
    create_grep_tool_definition = create_grep_tool
    create_ls_tool_definition = create_ls_tool
    create_read_tool_definition = create_read_tool
    create_write_tool_definition = create_write_tool
    parse_frontmatter = parse_fields
    BranchSummary = BranchSummaryProposal
    CompactionResult = CompactionProposal
    CompactionPreparation = Preparation

#: Module to what of it is public; ``Public=Own`` where the name is another one there.
_NAMES = {
    "piolet.agent.events": """
        AgentEnd AgentStart MessageStart MessageUpdate ToolExecutionEnd ToolExecutionStart ToolExecutionUpdate
        TurnStart
    """,
    "piolet.agent.function_tools": "ToolCallId",
    "piolet.agent.tools": "OnUpdate ToolResult",
    "piolet.app.commands": "SlashCommandInfo=Command SourceInfo",
    "piolet.app.extensions.api": "EventBus ExtensionAPI",
    "piolet.app.extensions.contexts": "CommandContext ExtensionContext ReplacedSessionContext ToolContext TrustContext",
    "piolet.app.extensions.definitions": """
        AutocompleteItem CommandDefinition CommandHandler Completer ContextUsage DeliverAs EntryRenderer ExecResult
        ExtensionFactory FlagDefinition FlagValue MarkdownContext MessageRenderer Mode Outcome RenderCall
        RenderOptions RenderResult ShortcutDefinition ShortcutHandler ToolDefinition ToolInfo ToolRendererResolver
    """,
    "piolet.app.extensions.drawing": "ToolSlots",
    "piolet.app.extensions.errors": "CompletionFailed StaleContextError",
    "piolet.app.extensions.model_registry": "ModelRegistry",
    "piolet.app.extensions.session_view": "SessionView",
    "piolet.app.extensions.toolkit": """
        conversation_text create_bash_tool create_bash_tool_definition=create_bash_tool create_edit_tool
        create_edit_tool_definition=create_edit_tool create_find_tool create_find_tool_definition=create_find_tool
        create_grep_tool create_grep_tool_definition=create_grep_tool create_ls_tool
        create_ls_tool_definition=create_ls_tool create_read_tool create_read_tool_definition=create_read_tool
        create_write_tool create_write_tool_definition=create_write_tool get_agent_dir with_file_mutation_queue
    """,
    "piolet.app.extensions.ui": "NotifyType Placement SetThemeResult UI",
    "piolet.app.hook_points": """
        BashResult BeforeFork BeforeSwitch Cancel ForkDecision InputEvent InputResult ResourcePaths
        ResourcesDiscover SessionShutdown SessionStart UiPrompt UserBash UserBashResult
    """,
    "piolet.app.prompt": "PromptRejected",
    "piolet.app.settings": "Settings",
    "piolet.app.trust": "ProjectTrustEvent TrustDecision",
    "piolet.base.abort": "AbortController AbortSignal Aborted",
    "piolet.base.frontmatter": "parse_frontmatter=parse_fields",
    "piolet.harness.compaction.files": "FileOperations",
    "piolet.harness.compaction.hook_points": """
        BeforeCompact BeforeTree BranchSummary=BranchSummaryProposal CompactDecision
        CompactionResult=CompactionProposal TreeDecision TreePreparation
    """,
    "piolet.harness.compaction.prepare": "CompactionPreparation=Preparation",
    "piolet.harness.compaction.settings": "CompactionSettings",
    "piolet.harness.drafts": "CompactionDraft ContextEditDraft CustomDraft CustomMessageDraft EntryDraft LabelDraft",
    "piolet.harness.environments.base": """
        DirectoryEntry Environment ExitStatus FileInfo FindQuery FindResult GrepLine GrepQuery GrepResult Snapshot
    """,
    "piolet.harness.environments.container": "ContainerEnvironment",
    "piolet.harness.environments.local": "LocalEnvironment",
    "piolet.harness.environments.memory": "MemoryEnvironment",
    "piolet.harness.environments.sandbox": "SandboxEnvironment",
    "piolet.harness.environments.shell": "ShellEnvironment",
    "piolet.harness.environments.ssh": "SshEnvironment",
    "piolet.harness.events": """
        AgentSettled ModelSelect SessionCompact SessionCompactFailed SessionInfoChanged SessionTree
        ThinkingLevelSelect
    """,
    "piolet.harness.hook_points": """
        AfterProviderResponse BeforeAgentStart BeforeProviderHeaders BeforeProviderRequest BeforeSettleEvent
        Boundary ContextEvent ContextResult MessageEndEvent MessageResult ProviderStreamEvent StartResult
        ToolCallEvent ToolCallResult ToolResultEvent ToolResultPatch TurnEndEvent
    """,
    "piolet.harness.messages": """
        AgentMessage BashExecutionMessage BranchSummaryMessage CompactionSummaryMessage CustomMessage
    """,
    "piolet.harness.navigation": "NavigationResult",
    "piolet.harness.prompt.records": "ContextFile PromptInputs PromptTool Skill",
    "piolet.harness.session.context": "SessionContext",
    "piolet.harness.session.entries": """
        BranchSummaryEntry CompactionEntry CustomEntry CustomMessageEntry Entry Header MessageEntry
    """,
    "piolet.harness.session.errors": "SessionError",
    "piolet.harness.session.session": "Session",
    "piolet.harness.session.tree": "TreeNode",
    "piolet.harness.tools.options": "ShellSpawn",
    "piolet.harness.tools.truncate": "Truncation format_size truncate_head truncate_tail",
    "piolet.llm.credentials.errors": "CredentialError LoginError",
    "piolet.llm.credentials.records": "ApiKeyCredential AuthStatus Credential OAuthCredential RequestAuth",
    "piolet.llm.events": """
        AssistantEvent DoneEvent ErrorEvent StartEvent TextDelta TextEnd TextStart ThinkingDelta ThinkingEnd
        ThinkingStart ToolCallDelta ToolCallEnd ToolCallStart
    """,
    "piolet.llm.messages": """
        AssistantMessage BaseMessage Cost ImageContent Message NO_USAGE StopReason TextContent ThinkingContent
        ThinkingLevel ToolCall ToolResultMessage Usage UserBlock UserMessage image text text_of
    """,
    "piolet.llm.model": "Context CostTier Model ModelCost StreamOptions ToolSpec",
    "piolet.llm.models": "Provider",
    "piolet.llm.oauth.config": "LoginConfig",
    "piolet.llm.oauth.login": "Login LoginUI",
    "piolet.llm.patterns": "ScopedModel",
    "piolet.llm.provider_config": "ModelPatch ProviderConfig",
    "piolet.llm.stream": "AssistantStream StreamFunction",
    "piolet.tui.ansi": "truncate_to_width=truncate visible_width=width wrap_to_width=wrap",
    "piolet.tui.completion": "CompletionSources=Sources Suggestion",
    "piolet.tui.component": "Box Component Loader Markdown Text",
    "piolet.tui.component_input": "Editor Input SelectList Setting SettingsList",
    "piolet.tui.custom_editor": "CustomEditor",
    "piolet.tui.host": "Tui",
    "piolet.tui.keymap": "Keymap",
    "piolet.tui.keys": "Key",
    "piolet.tui.overlay": "OverlayHandle OverlayOptions",
    "piolet.tui.select_list": "Item",
    "piolet.tui.ui_theme": "UiTheme",
}
_PLACES = {
    public: (module, own or public)
    for module, names in _NAMES.items()
    for public, _, own in (name.partition("=") for name in names.split())
}
__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, own = _PLACES[name]
    value = globals()[name] = getattr(import_module(module), own)
    return value


def __dir__() -> list[str]:
    return sorted(_PLACES)
