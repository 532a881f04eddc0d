"""Floor 3: the whole car, for people who embed it."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.harness.compaction.compactor import CompactionPolicy as CompactionPolicy
    from piolet.harness.compaction.hook_points import SESSION_BEFORE_COMPACT as SESSION_BEFORE_COMPACT
    from piolet.harness.compaction.hook_points import SESSION_BEFORE_TREE as SESSION_BEFORE_TREE
    from piolet.harness.compaction.hook_points import BeforeCompact as BeforeCompact
    from piolet.harness.compaction.hook_points import BeforeTree as BeforeTree
    from piolet.harness.compaction.hook_points import BranchSummaryProposal as BranchSummaryProposal
    from piolet.harness.compaction.hook_points import CompactDecision as CompactDecision
    from piolet.harness.compaction.hook_points import CompactionProposal as CompactionProposal
    from piolet.harness.compaction.hook_points import TreeDecision as TreeDecision
    from piolet.harness.compaction.settings import CompactionSettings as CompactionSettings
    from piolet.harness.drafts import CompactionDraft as CompactionDraft
    from piolet.harness.drafts import ContextEditDraft as ContextEditDraft
    from piolet.harness.drafts import CustomDraft as CustomDraft
    from piolet.harness.drafts import CustomMessageDraft as CustomMessageDraft
    from piolet.harness.drafts import LabelDraft as LabelDraft
    from piolet.harness.drive import RunResult as RunResult
    from piolet.harness.environments.base import Environment as Environment
    from piolet.harness.environments.base import Unreachable as Unreachable
    from piolet.harness.environments.choice import open_environment as open_environment
    from piolet.harness.environments.container import ContainerEnvironment as ContainerEnvironment
    from piolet.harness.environments.local import LocalEnvironment as LocalEnvironment
    from piolet.harness.environments.memory import MemoryEnvironment as MemoryEnvironment
    from piolet.harness.environments.sandbox import SandboxEnvironment as SandboxEnvironment
    from piolet.harness.environments.shell import ShellEnvironment as ShellEnvironment
    from piolet.harness.environments.ssh import SshEnvironment as SshEnvironment
    from piolet.harness.errors import Cancelled as Cancelled
    from piolet.harness.errors import CompactionFailed as CompactionFailed
    from piolet.harness.errors import HarnessBusy as HarnessBusy
    from piolet.harness.errors import HarnessClosed as HarnessClosed
    from piolet.harness.errors import HarnessError as HarnessError
    from piolet.harness.errors import NothingToDo as NothingToDo
    from piolet.harness.errors import PromptFailed as PromptFailed
    from piolet.harness.errors import UnknownTarget as UnknownTarget
    from piolet.harness.events import AgentSettled as AgentSettled
    from piolet.harness.events import AutoRetryEnd as AutoRetryEnd
    from piolet.harness.events import AutoRetryStart as AutoRetryStart
    from piolet.harness.events import CompactionEnd as CompactionEnd
    from piolet.harness.events import CompactionResult as CompactionResult
    from piolet.harness.events import CompactionStart as CompactionStart
    from piolet.harness.events import EntryAppended as EntryAppended
    from piolet.harness.events import HarnessEvent as HarnessEvent
    from piolet.harness.events import ModelSelect as ModelSelect
    from piolet.harness.events import SessionCompact as SessionCompact
    from piolet.harness.events import SessionCompactFailed as SessionCompactFailed
    from piolet.harness.events import SessionInfoChanged as SessionInfoChanged
    from piolet.harness.events import SessionTree as SessionTree
    from piolet.harness.events import ThinkingLevelSelect as ThinkingLevelSelect
    from piolet.harness.harness import AgentHarness as AgentHarness
    from piolet.harness.harness import ModelSource as ModelSource
    from piolet.harness.hook_points import AFTER_PROVIDER_RESPONSE as AFTER_PROVIDER_RESPONSE
    from piolet.harness.hook_points import AGENT_BEFORE_SETTLE as AGENT_BEFORE_SETTLE
    from piolet.harness.hook_points import BEFORE_AGENT_START as BEFORE_AGENT_START
    from piolet.harness.hook_points import BEFORE_PROVIDER_HEADERS as BEFORE_PROVIDER_HEADERS
    from piolet.harness.hook_points import BEFORE_PROVIDER_REQUEST as BEFORE_PROVIDER_REQUEST
    from piolet.harness.hook_points import CONTEXT as CONTEXT
    from piolet.harness.hook_points import MESSAGE_END as MESSAGE_END
    from piolet.harness.hook_points import PROVIDER_STREAM_EVENT as PROVIDER_STREAM_EVENT
    from piolet.harness.hook_points import TOOL_CALL as TOOL_CALL
    from piolet.harness.hook_points import TOOL_RESULT as TOOL_RESULT
    from piolet.harness.hook_points import TURN_END as TURN_END
    from piolet.harness.hook_points import AfterProviderResponse as AfterProviderResponse
    from piolet.harness.hook_points import BeforeAgentStart as BeforeAgentStart
    from piolet.harness.hook_points import BeforeProviderHeaders as BeforeProviderHeaders
    from piolet.harness.hook_points import BeforeProviderRequest as BeforeProviderRequest
    from piolet.harness.hook_points import BeforeSettleEvent as BeforeSettleEvent
    from piolet.harness.hook_points import Boundary as Boundary
    from piolet.harness.hook_points import ContextEvent as ContextEvent
    from piolet.harness.hook_points import ContextResult as ContextResult
    from piolet.harness.hook_points import MessageEndEvent as MessageEndEvent
    from piolet.harness.hook_points import MessageResult as MessageResult
    from piolet.harness.hook_points import ProviderStreamEvent as ProviderStreamEvent
    from piolet.harness.hook_points import StartResult as StartResult
    from piolet.harness.hook_points import ToolCallEvent as ToolCallEvent
    from piolet.harness.hook_points import ToolCallResult as ToolCallResult
    from piolet.harness.hook_points import ToolResultEvent as ToolResultEvent
    from piolet.harness.hook_points import ToolResultPatch as ToolResultPatch
    from piolet.harness.hook_points import TurnEndEvent as TurnEndEvent
    from piolet.harness.hooks import Hook as Hook
    from piolet.harness.hooks import HookFailure as HookFailure
    from piolet.harness.hooks import Hooks as Hooks
    from piolet.harness.messages import BashExecutionMessage as BashExecutionMessage
    from piolet.harness.messages import CustomMessage as CustomMessage
    from piolet.harness.messages import convert_to_llm as convert_to_llm
    from piolet.harness.navigation import NavigationResult as NavigationResult
    from piolet.harness.prompt.parts import PromptParts as PromptParts
    from piolet.harness.prompt.records import ContextFile as ContextFile
    from piolet.harness.prompt.records import Skill as Skill
    from piolet.harness.prompt.templates import PromptTemplate as PromptTemplate
    from piolet.harness.retry import RetryPolicy as RetryPolicy
    from piolet.harness.session.entries import Entry as Entry
    from piolet.harness.session.entries import MessageEntry as MessageEntry
    from piolet.harness.session.errors import SessionError as SessionError
    from piolet.harness.session.errors import UnknownSession as UnknownSession
    from piolet.harness.session.memory import MemorySessions as MemorySessions
    from piolet.harness.session.session import Session as Session
    from piolet.harness.session.storage import MemoryStorage as MemoryStorage
    from piolet.harness.session.storage import Storage as Storage
    from piolet.harness.session.stores import SessionStore as SessionStore
    from piolet.harness.session.stores import StoredSession as StoredSession
    from piolet.harness.session.tree import TreeNode as TreeNode
    from piolet.harness.stats import ContextUsage as ContextUsage
    from piolet.harness.stats import SessionStats as SessionStats
    from piolet.harness.sync import run_sync as run_sync
    from piolet.harness.tools.options import ToolOptions as ToolOptions
    from piolet.harness.tools.registry import built_in_tools as built_in_tools

_MODULES = {
    "compaction.compactor": ["CompactionPolicy"],
    "compaction.hook_points": [
        "SESSION_BEFORE_COMPACT",
        "SESSION_BEFORE_TREE",
        "BeforeCompact",
        "BeforeTree",
        "BranchSummaryProposal",
        "CompactDecision",
        "CompactionProposal",
        "TreeDecision",
    ],
    "compaction.settings": ["CompactionSettings"],
    "drafts": ["CompactionDraft", "ContextEditDraft", "CustomDraft", "CustomMessageDraft", "LabelDraft"],
    "drive": ["RunResult"],
    "environments.base": ["Environment", "Unreachable"],
    "environments.choice": ["open_environment"],
    "environments.container": ["ContainerEnvironment"],
    "environments.local": ["LocalEnvironment"],
    "environments.memory": ["MemoryEnvironment"],
    "environments.sandbox": ["SandboxEnvironment"],
    "environments.shell": ["ShellEnvironment"],
    "environments.ssh": ["SshEnvironment"],
    "errors": [
        "Cancelled",
        "CompactionFailed",
        "HarnessBusy",
        "HarnessClosed",
        "HarnessError",
        "NothingToDo",
        "PromptFailed",
        "UnknownTarget",
    ],
    "events": [
        "AgentSettled",
        "AutoRetryEnd",
        "AutoRetryStart",
        "CompactionEnd",
        "CompactionResult",
        "CompactionStart",
        "EntryAppended",
        "HarnessEvent",
        "ModelSelect",
        "SessionCompact",
        "SessionCompactFailed",
        "SessionInfoChanged",
        "SessionTree",
        "ThinkingLevelSelect",
    ],
    "harness": ["AgentHarness", "ModelSource"],
    "hook_points": [
        "AFTER_PROVIDER_RESPONSE",
        "AGENT_BEFORE_SETTLE",
        "BEFORE_AGENT_START",
        "BEFORE_PROVIDER_HEADERS",
        "BEFORE_PROVIDER_REQUEST",
        "CONTEXT",
        "MESSAGE_END",
        "PROVIDER_STREAM_EVENT",
        "TOOL_CALL",
        "TOOL_RESULT",
        "TURN_END",
        "AfterProviderResponse",
        "BeforeAgentStart",
        "BeforeProviderHeaders",
        "BeforeProviderRequest",
        "BeforeSettleEvent",
        "Boundary",
        "ContextEvent",
        "ContextResult",
        "MessageEndEvent",
        "MessageResult",
        "ProviderStreamEvent",
        "StartResult",
        "ToolCallEvent",
        "ToolCallResult",
        "ToolResultEvent",
        "ToolResultPatch",
        "TurnEndEvent",
    ],
    "hooks": ["Hook", "HookFailure", "Hooks"],
    "messages": ["BashExecutionMessage", "CustomMessage", "convert_to_llm"],
    "navigation": ["NavigationResult"],
    "prompt.parts": ["PromptParts"],
    "prompt.records": ["ContextFile", "Skill"],
    "prompt.templates": ["PromptTemplate"],
    "retry": ["RetryPolicy"],
    "session.entries": ["Entry", "MessageEntry"],
    "session.tree": ["TreeNode"],
    "session.errors": ["SessionError", "UnknownSession"],
    "session.memory": ["MemorySessions"],
    "session.session": ["Session"],
    "session.storage": ["MemoryStorage", "Storage"],
    "session.stores": ["SessionStore", "StoredSession"],
    "stats": ["ContextUsage", "SessionStats"],
    "sync": ["run_sync"],
    "tools.options": ["ToolOptions"],
    "tools.registry": ["built_in_tools"],
}

__all__ = [
    "AFTER_PROVIDER_RESPONSE",
    "AGENT_BEFORE_SETTLE",
    "BEFORE_AGENT_START",
    "BEFORE_PROVIDER_HEADERS",
    "BEFORE_PROVIDER_REQUEST",
    "CONTEXT",
    "MESSAGE_END",
    "PROVIDER_STREAM_EVENT",
    "SESSION_BEFORE_COMPACT",
    "SESSION_BEFORE_TREE",
    "TOOL_CALL",
    "TOOL_RESULT",
    "TURN_END",
    "AfterProviderResponse",
    "AgentHarness",
    "AgentSettled",
    "AutoRetryEnd",
    "AutoRetryStart",
    "BashExecutionMessage",
    "BeforeAgentStart",
    "BeforeCompact",
    "BeforeProviderHeaders",
    "BeforeProviderRequest",
    "BeforeSettleEvent",
    "BeforeTree",
    "Boundary",
    "BranchSummaryProposal",
    "Cancelled",
    "CompactDecision",
    "CompactionDraft",
    "CompactionEnd",
    "CompactionFailed",
    "CompactionPolicy",
    "CompactionProposal",
    "CompactionResult",
    "CompactionSettings",
    "CompactionStart",
    "ContainerEnvironment",
    "ContextEditDraft",
    "ContextEvent",
    "ContextFile",
    "ContextResult",
    "ContextUsage",
    "CustomDraft",
    "CustomMessage",
    "CustomMessageDraft",
    "Entry",
    "EntryAppended",
    "Environment",
    "HarnessBusy",
    "HarnessClosed",
    "HarnessError",
    "HarnessEvent",
    "Hook",
    "HookFailure",
    "Hooks",
    "LabelDraft",
    "LocalEnvironment",
    "MemoryEnvironment",
    "MemorySessions",
    "MemoryStorage",
    "MessageEndEvent",
    "MessageEntry",
    "MessageResult",
    "ModelSelect",
    "ModelSource",
    "NavigationResult",
    "NothingToDo",
    "PromptFailed",
    "PromptParts",
    "PromptTemplate",
    "ProviderStreamEvent",
    "RetryPolicy",
    "RunResult",
    "SandboxEnvironment",
    "Session",
    "SessionCompact",
    "SessionCompactFailed",
    "SessionError",
    "SessionInfoChanged",
    "SessionStats",
    "SessionStore",
    "SessionTree",
    "ShellEnvironment",
    "Skill",
    "SshEnvironment",
    "StartResult",
    "Storage",
    "StoredSession",
    "ThinkingLevelSelect",
    "ToolCallEvent",
    "ToolCallResult",
    "ToolOptions",
    "ToolResultEvent",
    "ToolResultPatch",
    "TreeDecision",
    "TreeNode",
    "TurnEndEvent",
    "UnknownSession",
    "UnknownTarget",
    "Unreachable",
    "built_in_tools",
    "convert_to_llm",
    "open_environment",
    "run_sync",
]

__getattr__ = lazy_exports(
    __name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
