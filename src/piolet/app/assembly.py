"""Puts an `AgentSession` together: session, model, tools, prompt and policies, as services and settings say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from piolet.agent.queues import QueueMode
from piolet.agent.tools import AgentTool
from piolet.app.agent_session import NO_MODEL, AgentSession
from piolet.app.extensions.runner import ExtensionRunner
from piolet.app.extensions.tools import is_allowed, overlaid
from piolet.app.model_choice import choose_scope, choose_start
from piolet.app.options import ToolSelection
from piolet.app.services import Services
from piolet.harness.compaction.compactor import CompactionPolicy
from piolet.harness.harness import AgentHarness
from piolet.harness.hooks import Hooks
from piolet.harness.messages import convert_to_llm
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.session import Session
from piolet.harness.tools.options import ImageSettings, ToolOptions
from piolet.harness.tools.registry import built_in_tools
from piolet.llm.messages import BaseMessage, ImageContent, Message, TextContent, ToolResultMessage, UserMessage
from piolet.llm.model import Model, StreamOptions

IMAGE_BLOCKED = TextContent("Image reading is disabled.")


def assemble(services: Services, session: Session, hooks: Hooks, extensions: ExtensionRunner) -> AgentSession:
    """Return an `AgentSession` over `session`. Raises `NoSuchModel`, `SettingsError`."""
    settings = services.settings
    context = session.build_context()
    start = choose_start(services.options, settings, services.models, context)
    for warning in start.warnings:
        services.tell_once(warning)
    model = start.model
    if services.options.api_key and model is not None:
        services.models.set_runtime_key(model.provider, services.options.api_key)
    built_in = list(built_in_tools(services.environment, _tool_options(services, session, lambda: harness)).values())
    tools = existing_tools(built_in, extensions, services.options.tools)
    harness = AgentHarness(
        models=services.models,
        model=model or NO_MODEL,
        environment=services.environment,
        session=session,
        tools=tools,
        active_tools=active_tools(
            [tool.name for tool in tools], services.options.tools, settings.default_tools, extensions.default_active()
        ),
        prompt=services.prompt_parts(),
        thinking_level=start.thinking,
        retry=_retry_policy(services),
        compaction=_compaction_policy(services),
        hooks=hooks,
        options=_stream_options(services, session),
        convert_to_llm=lambda messages: to_model(messages, block_images=settings.block_images),
    )
    harness.agent.steering.mode = _queue_mode(settings.steering_mode)
    harness.agent.follow_ups.mode = _queue_mode(settings.follow_up_mode)
    if model is not None and context.model != (model.provider, model.id):
        session.append_model_change(model.provider, model.id)
    if not context.messages or harness.thinking_level != context.thinking_level:
        session.append_thinking_level_change(harness.thinking_level)
    return AgentSession(services, harness, start.scope, built_in)


def reassemble(agent_session: AgentSession, services: Services, extensions: ExtensionRunner) -> None:
    """Let an open session go on with other services of its folder: model, active tools and queues stay.

    Tools that did not exist before are active as their extensions want it.
    """
    harness = agent_session.harness
    known = {tool.name for tool in harness.tools}
    added = [name for name in extensions.default_active() if name not in known]
    tools = existing_tools(agent_session.built_in_tools, extensions, services.options.tools)
    harness.set_tools(tools, [*harness.active_tools, *added])
    harness.prompt_parts = services.prompt_parts()
    harness.options = _stream_options(services, harness.session)
    harness.retry = replace(_retry_policy(services), enabled=harness.retry.enabled)
    scope = choose_scope(services.options, services.settings, services.models)
    for warning in scope.warnings:
        services.tell_once(warning.text)
    agent_session.services = services
    agent_session.scope = scope.models


def existing_tools(
    built_in: Sequence[AgentTool], extensions: ExtensionRunner, selection: ToolSelection
) -> list[AgentTool]:
    """Return the tools that there are: those built in and of extensions, without those that the user ruled out."""
    tools = overlaid(built_in, extensions.agent_tools())
    return [tool for tool in tools if is_allowed(tool.name, selection)]


def active_tools(
    available: Sequence[str], selection: ToolSelection, defaults: Sequence[str], added: Sequence[str] = ()
) -> list[str]:
    """Return the names of the tools to offer at the start (the command line specification, sections 2 and 7).

    `added`: those of extensions, which are on like the `defaults`.
    """
    defaults = [*(defaults if selection.builtin else ()), *added]
    if selection.none:
        names: list[str] = []
    elif selection.only is None:
        names = [name for name in available if name in defaults]
    elif selection.only and all(item[0] in "+-" for item in selection.only):
        removed = {item[1:] for item in selection.only if item[0] == "-"}
        wanted = [item[1:] for item in selection.only if item[0] == "+"]
        names = [name for name in [*defaults, *wanted] if name not in removed]
    else:
        names = [name for pattern in selection.only for name in available if fnmatchcase(name, pattern)]
    return [
        name
        for name in dict.fromkeys(names)
        if name in available and not any(fnmatchcase(name, pattern) for pattern in selection.exclude)
    ]


def to_model(messages: Sequence[BaseMessage], *, block_images: bool) -> Sequence[Message]:
    """Return what the model gets for `messages`; with `block_images` a line stands in place of each image."""
    converted = convert_to_llm(messages)
    return [_without_images(message) for message in converted] if block_images else converted


def _without_images(message: Message) -> Message:
    match message:
        case UserMessage(content=list(content)) | ToolResultMessage(content=content):
            if any(isinstance(block, ImageContent) for block in content):
                blocks = [IMAGE_BLOCKED if isinstance(block, ImageContent) else block for block in content]
                return replace(message, content=blocks)
            return message
        case _:
            return message


def _retry_policy(services: Services) -> RetryPolicy:
    retry = services.settings.retry
    return RetryPolicy(retry.enabled, retry.max_retries, retry.base_delay_ms, retry.max_agent_delay_ms)


def _stream_options(services: Services, session: Session) -> StreamOptions:
    settings, provider = services.settings, services.settings.provider_retry
    return StreamOptions(
        session_id=session.id,
        thinking_budgets=settings.thinking_budgets,
        cache_retention=services.options.cache_retention,
        timeout_ms=provider.timeout_ms,
        idle_timeout_ms=settings.http_idle_timeout_ms,
        max_retries=provider.max_retries or 0,
        max_retry_delay_ms=provider.max_retry_delay_ms,
    )


def _compaction_policy(services: Services) -> CompactionPolicy:
    """Compaction as the settings say; an unusable ``piolet.compactionModel`` is told of once."""
    settings, models = services.settings, services.models

    def summary_model() -> Model | None:
        provider, _, model_id = (settings.compaction_model or "").partition("/")
        if not provider:
            return None
        model = models.find(provider, model_id) if models.has_configured_auth(provider) else None
        if model is None:
            services.tell_once(f"{settings.compaction_model} cannot write summaries: unknown, or without credentials")
        return model

    return CompactionPolicy(
        settings=lambda model: settings.compaction_for(model.key),
        summary_model=summary_model,
        branch_reserve_tokens=lambda: settings.branch_summary.reserve_tokens,
    )


def _tool_options(services: Services, session: Session, harness: Callable[[], AgentHarness]) -> ToolOptions:
    """What the built-in tools ask at each call."""
    settings = services.settings

    def blind_model() -> str | None:
        model = harness().model
        return None if "image" in model.input else model.id

    def variables() -> Mapping[str, str | None]:
        return {
            "PI_SESSION_ID": session.id,
            "PI_SESSION_FILE": session.path if session.saved else None,
            "PI_PROVIDER": harness().model.provider,
            "PI_MODEL": harness().model.id,
            "PI_REASONING_LEVEL": harness().thinking_level,
        }

    return ToolOptions(
        image_settings=lambda: ImageSettings(auto_resize=settings.image_auto_resize),
        blind_model=blind_model,
        shell_path=lambda: settings.shell_path,
        command_prefix=lambda: settings.shell_command_prefix,
        command_variables=variables,
    )


def _queue_mode(value: str) -> QueueMode:
    return "all" if value == "all" else "one-at-a-time"
