"""How ``pi.on`` is typed: for each event what its handlers get and may answer.

Nothing here is run. Handlers take the event and a context; they may be sync or async. An answer may also be a mapping
with the same keys. What handlers of an observing event return does not matter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

from piolet.agent.events import (
    AgentEnd,
    AgentStart,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnStart,
)
from piolet.app.extensions.contexts import ExtensionContext, TrustContext
from piolet.app.hook_points import (
    BeforeFork,
    BeforeSwitch,
    Cancel,
    ForkDecision,
    InputEvent,
    InputResult,
    ResourcePaths,
    ResourcesDiscover,
    SessionShutdown,
    SessionStart,
    UiPrompt,
    UserBash,
    UserBashResult,
)
from piolet.app.trust import ProjectTrustEvent, TrustDecision
from piolet.harness.compaction.hook_points import BeforeCompact, BeforeTree, CompactDecision, TreeDecision
from piolet.harness.events import (
    AgentSettled,
    ModelSelect,
    SessionCompact,
    SessionCompactFailed,
    SessionInfoChanged,
    SessionTree,
    ThinkingLevelSelect,
)
from piolet.harness.hook_points import (
    AfterProviderResponse,
    BeforeAgentStart,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    BeforeSettleEvent,
    Boundary,
    ContextEvent,
    ContextResult,
    MessageEndEvent,
    MessageResult,
    ProviderStreamEvent,
    StartResult,
    ToolCallEvent,
    ToolCallResult,
    ToolResultEvent,
    ToolResultPatch,
    TurnEndEvent,
)

E = TypeVar("E")
R = TypeVar("R")
C = TypeVar("C")

Off: TypeAlias = Callable[[], None]
Answer: TypeAlias = R | Mapping[str, Any] | None
#: A handler that may answer; one in whose answer nobody is interested.
Asked: TypeAlias = Callable[[E, C], Answer[R] | Awaitable[Answer[R]]]
Told: TypeAlias = Callable[[E, ExtensionContext], object]

A = TypeVar("A", bound=Callable[..., Any])


class Decorator(Protocol[E, C, R]):
    """Registers the function below and leaves it as it is."""

    def __call__(self, handler: Asked[E, C, R], /) -> Asked[E, C, R]: ...


class Observer(Protocol[E]):
    def __call__(self, handler: Told[E], /) -> Told[E]: ...


class On(Protocol):
    """Register a handler of an event; return a function that withdraws it. Without handler: a decorator."""

    @overload
    def __call__(
        self, event: Literal["project_trust"], handler: Asked[ProjectTrustEvent, TrustContext, TrustDecision], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["project_trust"], /
    ) -> Decorator[ProjectTrustEvent, TrustContext, TrustDecision]: ...

    @overload
    def __call__(
        self,
        event: Literal["resources_discover"],
        handler: Asked[ResourcesDiscover, ExtensionContext, ResourcePaths],
        /,
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["resources_discover"], /
    ) -> Decorator[ResourcesDiscover, ExtensionContext, ResourcePaths]: ...

    @overload
    def __call__(
        self, event: Literal["session_before_switch"], handler: Asked[BeforeSwitch, ExtensionContext, Cancel], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["session_before_switch"], /
    ) -> Decorator[BeforeSwitch, ExtensionContext, Cancel]: ...

    @overload
    def __call__(
        self, event: Literal["session_before_fork"], handler: Asked[BeforeFork, ExtensionContext, ForkDecision], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["session_before_fork"], /
    ) -> Decorator[BeforeFork, ExtensionContext, ForkDecision]: ...

    @overload
    def __call__(
        self,
        event: Literal["session_before_compact"],
        handler: Asked[BeforeCompact, ExtensionContext, CompactDecision],
        /,
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["session_before_compact"], /
    ) -> Decorator[BeforeCompact, ExtensionContext, CompactDecision]: ...

    @overload
    def __call__(
        self, event: Literal["session_before_tree"], handler: Asked[BeforeTree, ExtensionContext, TreeDecision], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["session_before_tree"], /
    ) -> Decorator[BeforeTree, ExtensionContext, TreeDecision]: ...

    @overload
    def __call__(
        self, event: Literal["input"], handler: Asked[InputEvent, ExtensionContext, InputResult], /
    ) -> Off: ...
    @overload
    def __call__(self, event: Literal["input"], /) -> Decorator[InputEvent, ExtensionContext, InputResult]: ...

    @overload
    def __call__(
        self, event: Literal["before_agent_start"], handler: Asked[BeforeAgentStart, ExtensionContext, StartResult], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["before_agent_start"], /
    ) -> Decorator[BeforeAgentStart, ExtensionContext, StartResult]: ...

    @overload
    def __call__(
        self, event: Literal["agent_before_settle"], handler: Asked[BeforeSettleEvent, ExtensionContext, Boundary], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["agent_before_settle"], /
    ) -> Decorator[BeforeSettleEvent, ExtensionContext, Boundary]: ...

    @overload
    def __call__(
        self, event: Literal["turn_end"], handler: Asked[TurnEndEvent, ExtensionContext, Boundary], /
    ) -> Off: ...
    @overload
    def __call__(self, event: Literal["turn_end"], /) -> Decorator[TurnEndEvent, ExtensionContext, Boundary]: ...

    @overload
    def __call__(
        self, event: Literal["message_end"], handler: Asked[MessageEndEvent, ExtensionContext, MessageResult], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["message_end"], /
    ) -> Decorator[MessageEndEvent, ExtensionContext, MessageResult]: ...

    @overload
    def __call__(
        self, event: Literal["tool_call"], handler: Asked[ToolCallEvent, ExtensionContext, ToolCallResult], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["tool_call"], /
    ) -> Decorator[ToolCallEvent, ExtensionContext, ToolCallResult]: ...

    @overload
    def __call__(
        self, event: Literal["tool_result"], handler: Asked[ToolResultEvent, ExtensionContext, ToolResultPatch], /
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["tool_result"], /
    ) -> Decorator[ToolResultEvent, ExtensionContext, ToolResultPatch]: ...

    @overload
    def __call__(
        self, event: Literal["context"], handler: Asked[ContextEvent, ExtensionContext, ContextResult], /
    ) -> Off: ...
    @overload
    def __call__(self, event: Literal["context"], /) -> Decorator[ContextEvent, ExtensionContext, ContextResult]: ...

    @overload
    def __call__(
        self,
        event: Literal["before_provider_request"],
        handler: Asked[BeforeProviderRequest, ExtensionContext, dict[str, Any]],
        /,
    ) -> Off: ...
    @overload
    def __call__(
        self, event: Literal["before_provider_request"], /
    ) -> Decorator[BeforeProviderRequest, ExtensionContext, dict[str, Any]]: ...

    @overload
    def __call__(
        self, event: Literal["user_bash"], handler: Asked[UserBash, ExtensionContext, UserBashResult], /
    ) -> Off: ...
    @overload
    def __call__(self, event: Literal["user_bash"], /) -> Decorator[UserBash, ExtensionContext, UserBashResult]: ...

    @overload
    def __call__(self, event: Literal["before_provider_headers"], handler: Told[BeforeProviderHeaders], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["before_provider_headers"], /) -> Observer[BeforeProviderHeaders]: ...

    @overload
    def __call__(self, event: Literal["after_provider_response"], handler: Told[AfterProviderResponse], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["after_provider_response"], /) -> Observer[AfterProviderResponse]: ...

    @overload
    def __call__(self, event: Literal["provider_stream_event"], handler: Told[ProviderStreamEvent], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["provider_stream_event"], /) -> Observer[ProviderStreamEvent]: ...

    @overload
    def __call__(self, event: Literal["session_start"], handler: Told[SessionStart], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["session_start"], /) -> Observer[SessionStart]: ...

    @overload
    def __call__(self, event: Literal["session_shutdown"], handler: Told[SessionShutdown], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["session_shutdown"], /) -> Observer[SessionShutdown]: ...

    @overload
    def __call__(self, event: Literal["session_info_changed"], handler: Told[SessionInfoChanged], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["session_info_changed"], /) -> Observer[SessionInfoChanged]: ...

    @overload
    def __call__(self, event: Literal["session_compact"], handler: Told[SessionCompact], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["session_compact"], /) -> Observer[SessionCompact]: ...

    @overload
    def __call__(self, event: Literal["session_compact_failed"], handler: Told[SessionCompactFailed], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["session_compact_failed"], /) -> Observer[SessionCompactFailed]: ...

    @overload
    def __call__(self, event: Literal["session_tree"], handler: Told[SessionTree], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["session_tree"], /) -> Observer[SessionTree]: ...

    @overload
    def __call__(self, event: Literal["agent_start"], handler: Told[AgentStart], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["agent_start"], /) -> Observer[AgentStart]: ...

    @overload
    def __call__(self, event: Literal["agent_end"], handler: Told[AgentEnd], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["agent_end"], /) -> Observer[AgentEnd]: ...

    @overload
    def __call__(self, event: Literal["agent_settled"], handler: Told[AgentSettled], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["agent_settled"], /) -> Observer[AgentSettled]: ...

    @overload
    def __call__(self, event: Literal["turn_start"], handler: Told[TurnStart], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["turn_start"], /) -> Observer[TurnStart]: ...

    @overload
    def __call__(self, event: Literal["message_start"], handler: Told[MessageStart], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["message_start"], /) -> Observer[MessageStart]: ...

    @overload
    def __call__(self, event: Literal["message_update"], handler: Told[MessageUpdate], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["message_update"], /) -> Observer[MessageUpdate]: ...

    @overload
    def __call__(self, event: Literal["tool_execution_start"], handler: Told[ToolExecutionStart], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["tool_execution_start"], /) -> Observer[ToolExecutionStart]: ...

    @overload
    def __call__(self, event: Literal["tool_execution_update"], handler: Told[ToolExecutionUpdate], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["tool_execution_update"], /) -> Observer[ToolExecutionUpdate]: ...

    @overload
    def __call__(self, event: Literal["tool_execution_end"], handler: Told[ToolExecutionEnd], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["tool_execution_end"], /) -> Observer[ToolExecutionEnd]: ...

    @overload
    def __call__(self, event: Literal["model_select"], handler: Told[ModelSelect], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["model_select"], /) -> Observer[ModelSelect]: ...

    @overload
    def __call__(self, event: Literal["thinking_level_select"], handler: Told[ThinkingLevelSelect], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["thinking_level_select"], /) -> Observer[ThinkingLevelSelect]: ...

    @overload
    def __call__(self, event: Literal["ui_prompt_start"], handler: Told[UiPrompt], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["ui_prompt_start"], /) -> Observer[UiPrompt]: ...

    @overload
    def __call__(self, event: Literal["ui_prompt_end"], handler: Told[UiPrompt], /) -> Off: ...
    @overload
    def __call__(self, event: Literal["ui_prompt_end"], /) -> Observer[UiPrompt]: ...

    def __call__(self, event: str, handler: Any = None, /) -> Any: ...
