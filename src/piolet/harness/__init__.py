"""Floor 3: the whole car, for people who embed it."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.harness.compaction.compactor import CompactionPolicy as CompactionPolicy
    from piolet.harness.compaction.hook_points import (
        SESSION_BEFORE_COMPACT as SESSION_BEFORE_COMPACT,
    )
    from piolet.harness.compaction.hook_points import (
        SESSION_BEFORE_TREE as SESSION_BEFORE_TREE,
    )
    from piolet.harness.compaction.hook_points import (
        BranchSummaryProposal as BranchSummaryProposal,
    )
    from piolet.harness.compaction.hook_points import (
        CompactDecision as CompactDecision,
    )
    from piolet.harness.compaction.hook_points import (
        CompactionProposal as CompactionProposal,
    )
    from piolet.harness.compaction.hook_points import (
        TreeDecision as TreeDecision,
    )
    from piolet.harness.compaction.settings import CompactionSettings as CompactionSettings
    from piolet.harness.drafts import (
        CompactionDraft as CompactionDraft,
    )
    from piolet.harness.drafts import (
        ContextEditDraft as ContextEditDraft,
    )
    from piolet.harness.drafts import (
        CustomDraft as CustomDraft,
    )
    from piolet.harness.drafts import (
        CustomMessageDraft as CustomMessageDraft,
    )
    from piolet.harness.drafts import (
        LabelDraft as LabelDraft,
    )
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
    from piolet.harness.errors import (
        Cancelled as Cancelled,
    )
    from piolet.harness.errors import (
        CompactionFailed as CompactionFailed,
    )
    from piolet.harness.errors import (
        HarnessBusy as HarnessBusy,
    )
    from piolet.harness.errors import (
        HarnessClosed as HarnessClosed,
    )
    from piolet.harness.errors import (
        HarnessError as HarnessError,
    )
    from piolet.harness.errors import (
        NothingToDo as NothingToDo,
    )
    from piolet.harness.errors import PromptFailed as PromptFailed
    from piolet.harness.errors import (
        UnknownTarget as UnknownTarget,
    )
    from piolet.harness.events import CompactionResult as CompactionResult
    from piolet.harness.harness import AgentHarness as AgentHarness
    from piolet.harness.harness import ModelSource as ModelSource
    from piolet.harness.hook_points import (
        AFTER_PROVIDER_RESPONSE as AFTER_PROVIDER_RESPONSE,
    )
    from piolet.harness.hook_points import (
        AGENT_BEFORE_SETTLE as AGENT_BEFORE_SETTLE,
    )
    from piolet.harness.hook_points import (
        BEFORE_AGENT_START as BEFORE_AGENT_START,
    )
    from piolet.harness.hook_points import (
        BEFORE_PROVIDER_HEADERS as BEFORE_PROVIDER_HEADERS,
    )
    from piolet.harness.hook_points import (
        BEFORE_PROVIDER_REQUEST as BEFORE_PROVIDER_REQUEST,
    )
    from piolet.harness.hook_points import (
        CONTEXT as CONTEXT,
    )
    from piolet.harness.hook_points import (
        MESSAGE_END as MESSAGE_END,
    )
    from piolet.harness.hook_points import (
        PROVIDER_STREAM_EVENT as PROVIDER_STREAM_EVENT,
    )
    from piolet.harness.hook_points import (
        TOOL_CALL as TOOL_CALL,
    )
    from piolet.harness.hook_points import (
        TOOL_RESULT as TOOL_RESULT,
    )
    from piolet.harness.hook_points import (
        TURN_END as TURN_END,
    )
    from piolet.harness.hook_points import (
        Boundary as Boundary,
    )
    from piolet.harness.hook_points import (
        ContextResult as ContextResult,
    )
    from piolet.harness.hook_points import (
        MessageResult as MessageResult,
    )
    from piolet.harness.hook_points import (
        StartResult as StartResult,
    )
    from piolet.harness.hook_points import (
        ToolCallResult as ToolCallResult,
    )
    from piolet.harness.hook_points import (
        ToolResultPatch as ToolResultPatch,
    )
    from piolet.harness.hooks import Hook as Hook
    from piolet.harness.hooks import HookFailure as HookFailure
    from piolet.harness.hooks import Hooks as Hooks
    from piolet.harness.messages import (
        BashExecutionMessage as BashExecutionMessage,
    )
    from piolet.harness.messages import (
        CustomMessage as CustomMessage,
    )
    from piolet.harness.messages import (
        convert_to_llm as convert_to_llm,
    )
    from piolet.harness.navigation import NavigationResult as NavigationResult
    from piolet.harness.prompt.parts import PromptParts as PromptParts
    from piolet.harness.prompt.records import ContextFile as ContextFile
    from piolet.harness.prompt.records import Skill as Skill
    from piolet.harness.prompt.templates import PromptTemplate as PromptTemplate
    from piolet.harness.retry import RetryPolicy as RetryPolicy
    from piolet.harness.session.errors import SessionError as SessionError
    from piolet.harness.session.session import Session as Session
    from piolet.harness.stats import ContextUsage as ContextUsage
    from piolet.harness.stats import SessionStats as SessionStats
    from piolet.harness.sync import run_sync as run_sync
    from piolet.harness.tools.options import ToolOptions as ToolOptions
    from piolet.harness.tools.registry import built_in_tools as built_in_tools

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
    "AgentHarness",
    "BashExecutionMessage",
    "Boundary",
    "BranchSummaryProposal",
    "Cancelled",
    "CompactDecision",
    "CompactionDraft",
    "CompactionFailed",
    "CompactionPolicy",
    "CompactionProposal",
    "CompactionResult",
    "CompactionSettings",
    "ContainerEnvironment",
    "ContextEditDraft",
    "ContextFile",
    "ContextResult",
    "ContextUsage",
    "CustomDraft",
    "CustomMessage",
    "CustomMessageDraft",
    "Environment",
    "HarnessBusy",
    "HarnessClosed",
    "HarnessError",
    "Hook",
    "HookFailure",
    "Hooks",
    "LabelDraft",
    "LocalEnvironment",
    "MemoryEnvironment",
    "MessageResult",
    "ModelSource",
    "NavigationResult",
    "NothingToDo",
    "PromptFailed",
    "PromptParts",
    "PromptTemplate",
    "RetryPolicy",
    "RunResult",
    "SandboxEnvironment",
    "Session",
    "SessionError",
    "SessionStats",
    "ShellEnvironment",
    "Skill",
    "SshEnvironment",
    "StartResult",
    "ToolCallResult",
    "ToolOptions",
    "ToolResultPatch",
    "TreeDecision",
    "UnknownTarget",
    "Unreachable",
    "built_in_tools",
    "convert_to_llm",
    "open_environment",
    "run_sync",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "AFTER_PROVIDER_RESPONSE": "piolet.harness.hook_points",
        "AGENT_BEFORE_SETTLE": "piolet.harness.hook_points",
        "AgentHarness": "piolet.harness.harness",
        "BEFORE_AGENT_START": "piolet.harness.hook_points",
        "BEFORE_PROVIDER_HEADERS": "piolet.harness.hook_points",
        "BEFORE_PROVIDER_REQUEST": "piolet.harness.hook_points",
        "BashExecutionMessage": "piolet.harness.messages",
        "Boundary": "piolet.harness.hook_points",
        "BranchSummaryProposal": "piolet.harness.compaction.hook_points",
        "CONTEXT": "piolet.harness.hook_points",
        "Cancelled": "piolet.harness.errors",
        "CompactDecision": "piolet.harness.compaction.hook_points",
        "CompactionDraft": "piolet.harness.drafts",
        "CompactionFailed": "piolet.harness.errors",
        "CompactionPolicy": "piolet.harness.compaction.compactor",
        "CompactionProposal": "piolet.harness.compaction.hook_points",
        "CompactionResult": "piolet.harness.events",
        "CompactionSettings": "piolet.harness.compaction.settings",
        "ContainerEnvironment": "piolet.harness.environments.container",
        "ContextEditDraft": "piolet.harness.drafts",
        "ContextFile": "piolet.harness.prompt.records",
        "ContextResult": "piolet.harness.hook_points",
        "ContextUsage": "piolet.harness.stats",
        "CustomDraft": "piolet.harness.drafts",
        "CustomMessage": "piolet.harness.messages",
        "CustomMessageDraft": "piolet.harness.drafts",
        "Environment": "piolet.harness.environments.base",
        "HarnessBusy": "piolet.harness.errors",
        "HarnessClosed": "piolet.harness.errors",
        "HarnessError": "piolet.harness.errors",
        "Hook": "piolet.harness.hooks",
        "HookFailure": "piolet.harness.hooks",
        "Hooks": "piolet.harness.hooks",
        "LabelDraft": "piolet.harness.drafts",
        "LocalEnvironment": "piolet.harness.environments.local",
        "MESSAGE_END": "piolet.harness.hook_points",
        "MemoryEnvironment": "piolet.harness.environments.memory",
        "MessageResult": "piolet.harness.hook_points",
        "ModelSource": "piolet.harness.harness",
        "NavigationResult": "piolet.harness.navigation",
        "NothingToDo": "piolet.harness.errors",
        "PROVIDER_STREAM_EVENT": "piolet.harness.hook_points",
        "PromptFailed": "piolet.harness.errors",
        "PromptParts": "piolet.harness.prompt.parts",
        "PromptTemplate": "piolet.harness.prompt.templates",
        "RetryPolicy": "piolet.harness.retry",
        "RunResult": "piolet.harness.drive",
        "SESSION_BEFORE_COMPACT": "piolet.harness.compaction.hook_points",
        "SESSION_BEFORE_TREE": "piolet.harness.compaction.hook_points",
        "SandboxEnvironment": "piolet.harness.environments.sandbox",
        "Session": "piolet.harness.session.session",
        "SessionError": "piolet.harness.session.errors",
        "SessionStats": "piolet.harness.stats",
        "ShellEnvironment": "piolet.harness.environments.shell",
        "Skill": "piolet.harness.prompt.records",
        "SshEnvironment": "piolet.harness.environments.ssh",
        "StartResult": "piolet.harness.hook_points",
        "TOOL_CALL": "piolet.harness.hook_points",
        "TOOL_RESULT": "piolet.harness.hook_points",
        "TURN_END": "piolet.harness.hook_points",
        "ToolCallResult": "piolet.harness.hook_points",
        "ToolOptions": "piolet.harness.tools.options",
        "ToolResultPatch": "piolet.harness.hook_points",
        "TreeDecision": "piolet.harness.compaction.hook_points",
        "UnknownTarget": "piolet.harness.errors",
        "Unreachable": "piolet.harness.environments.base",
        "built_in_tools": "piolet.harness.tools.registry",
        "convert_to_llm": "piolet.harness.messages",
        "open_environment": "piolet.harness.environments.choice",
        "run_sync": "piolet.harness.sync",
    },
)
