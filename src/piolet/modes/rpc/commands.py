"""The commands of RPC mode, by name: each takes its fields and gives the ``data`` of its response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from piolet.app.agent_session import AgentSession, Disposition
from piolet.app.prompt import PromptRejected, UserPrompt
from piolet.app.runtime import Runtime
from piolet.app.settings import SettingsError
from piolet.app.wire import command_record, compaction_result, session_stats, tree_nodes
from piolet.base.json import loads
from piolet.base.paths import is_possible
from piolet.harness.errors import HarnessError
from piolet.harness.session.errors import InvalidEntry, SessionError, UnknownEntry
from piolet.llm.messages import THINKING_LEVELS, ImageContent

T = TypeVar("T")
#: Writes the response before the command is over; ``...`` leaves the data out.
Answer: TypeAlias = Callable[[Any], Awaitable[None]]
Command: TypeAlias = Callable[[Mapping[str, Any], Answer], Awaitable[Any]]


class CommandFailed(Exception):
    """The command was not carried out; the text is the error of its response."""


def field(fields: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return a required field. Raises `CommandFailed` if it is missing or of another type."""
    value = fields.get(name)
    if not isinstance(value, kind):
        raise CommandFailed(f'"{name}" must be a {_TYPES[kind]}')
    return value


def optional(fields: Mapping[str, Any], name: str, kind: type[T]) -> T | None:
    """Return a field that may be missing or null."""
    return None if fields.get(name) is None else field(fields, name, kind)


def path_of(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a field that names a file and may be missing. Raises `CommandFailed` if no file can have that name."""
    value = optional(fields, name, str)
    if value is not None and not is_possible(value):
        raise CommandFailed(f'"{name}" must be the path of a file')
    return value


_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", list: "list"}


class Commands:
    """All commands over one runtime. `on_bash_output` is told the id of the command and what the shell wrote."""

    def __init__(self, runtime: Runtime, on_bash_output: Callable[[Any, str], Awaitable[None]]) -> None:
        self._runtime = runtime
        self._on_bash_output = on_bash_output
        names = (name for name in vars(Commands) if name.startswith("do_"))
        self.handlers: Mapping[str, Command] = {
            name.removeprefix("do_"): _guarded(getattr(self, name)) for name in names
        }

    @property
    def _session(self) -> AgentSession:
        return self._runtime.session

    # ---- prompting

    async def do_prompt(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        behaviors: Mapping[str | None, Literal["steer", "follow_up"]] = {"steer": "steer", "followUp": "follow_up"}
        behavior = behaviors.get(optional(fields, "streamingBehavior", str))

        async def accepted(disposition: Disposition) -> None:
            await answer({"disposition": disposition})

        await self._session.prompt(_prompt(fields), behavior=behavior, source="rpc", on_accepted=accepted)
        return ...

    async def do_steer(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"disposition": await self._session.queue(_prompt(fields), "steer", "rpc")}

    async def do_follow_up(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"disposition": await self._session.queue(_prompt(fields), "follow_up", "rpc")}

    async def do_abort(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        await self._session.abort()
        return ...

    async def do_clear_queue(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        steering, follow_up = await self._session.clear_queue()
        return {"steering": steering, "followUp": follow_up}

    # ---- state, model, thinking

    async def do_get_state(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        session = self._session
        state = {
            "model": session.model,
            "thinkingLevel": session.thinking_level,
            "isStreaming": session.is_streaming,
            "isCompacting": session.harness.is_compacting,
            "steeringMode": session.harness.agent.steering.mode,
            "followUpMode": session.harness.agent.follow_ups.mode,
            "sessionFile": session.session.path,
            "sessionId": session.session.id,
            "sessionName": session.session.name,
            "autoCompactionEnabled": session.auto_compaction,
            "messageCount": len(session.harness.agent.messages),
            "pendingMessageCount": session.pending_messages,
        }
        return {key: value for key, value in state.items() if value is not None}

    async def do_get_messages(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"messages": self._session.harness.agent.messages}

    async def do_set_model(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        provider, model_id = field(fields, "provider", str), field(fields, "modelId", str)
        return await self._session.set_model(provider, model_id)

    async def do_cycle_model(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        cycled = await self._session.cycle_model()
        if cycled is None:
            return None
        return {
            "model": cycled,
            "thinkingLevel": self._session.thinking_level,
            "isScoped": bool(self._session.scope),
        }

    async def do_get_available_models(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"models": self._session.services.models.get_available()}

    async def do_set_thinking_level(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        level = field(fields, "level", str)
        for known in THINKING_LEVELS:
            if known == level:
                await self._session.harness.set_thinking_level(known)
                return ...
        raise CommandFailed(f'Unknown thinking level "{level}": use {", ".join(THINKING_LEVELS)}')

    async def do_cycle_thinking_level(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        level = await self._session.cycle_thinking_level()
        return None if level is None else {"level": level}

    async def do_get_available_thinking_levels(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"levels": self._session.thinking_levels}

    async def do_set_steering_mode(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        self._session.set_queue_mode("steering", _queue_mode(fields))
        return ...

    async def do_set_follow_up_mode(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        self._session.set_queue_mode("follow_up", _queue_mode(fields))
        return ...

    async def do_set_auto_compaction(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        self._session.set_auto_compaction(field(fields, "enabled", bool))
        return ...

    async def do_set_auto_retry(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        self._session.set_auto_retry(field(fields, "enabled", bool))
        return ...

    async def do_get_session_stats(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return session_stats(self._session.stats())

    # ---- compaction, retry, bash

    async def do_compact(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return compaction_result(await self._session.compact(optional(fields, "customInstructions", str)))

    async def do_abort_retry(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        self._session.harness.abort_retry()
        return ...

    async def do_bash(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        command, id = field(fields, "command", str), fields.get("id", ...)

        async def told(delta: str) -> None:
            await self._on_bash_output(id, delta)

        done = await self._session.bash(command, exclude=fields.get("excludeFromContext") is True, on_output=told)
        data = {
            "output": done.output,
            "exitCode": done.exit_code,
            "cancelled": done.cancelled,
            "truncated": done.truncated,
            "fullOutputPath": done.full_output_path,
        }
        return {key: value for key, value in data.items() if value is not None}

    async def do_abort_bash(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        self._session.abort_bash()
        return ...

    # ---- session

    async def do_new_session(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"cancelled": not await self._runtime.new_session(optional(fields, "parentSession", str))}

    async def do_switch_session(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        path = path_of(fields, "sessionPath") or field(fields, "sessionPath", str)
        return {"cancelled": not await self._runtime.switch_session(path)}

    async def do_fork(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        entry_id = field(fields, "entryId", str)
        try:
            text = await self._runtime.fork(entry_id)
        except (UnknownEntry, InvalidEntry):
            raise CommandFailed("Invalid entry ID for forking") from None
        return {"text": text or "", "cancelled": text is None}

    async def do_clone(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"cancelled": not await self._runtime.clone()}

    async def do_get_fork_messages(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"messages": [{"entryId": id, "text": text} for id, text in self._session.fork_points()]}

    async def do_get_entries(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        session, since = self._session.session, optional(fields, "since", str)
        heads = list(session.heads)
        if since is not None:
            positions = [index for index, head in enumerate(heads) if head.id == since]
            if not positions:
                raise CommandFailed(f"Entry not found: {since}")
            heads = heads[positions[-1] + 1 :]
        return {"entries": [loads(line) for line in session.lines(heads)], "leafId": session.leaf_id}

    async def do_get_tree(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        session = self._session.session
        return {"tree": tree_nodes(session), "leafId": session.leaf_id}

    async def do_get_last_assistant_text(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        text = self._session.last_assistant_text()
        return {} if text is None else {"text": text}

    async def do_set_session_name(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        name = field(fields, "name", str).strip()
        if not name:
            raise CommandFailed("Session name cannot be empty")
        await self._session.set_name(name)
        return ...

    async def do_export_html(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"path": await self._runtime.export_html(path_of(fields, "outputPath"))}

    async def do_get_commands(self, fields: Mapping[str, Any], answer: Answer) -> Any:
        return {"commands": [command_record(command) for command in self._session.commands.list()]}


def _guarded(handler: Command) -> Command:
    """Turn every refusal into the error of the response."""

    async def run(fields: Mapping[str, Any], answer: Answer) -> Any:
        try:
            return await handler(fields, answer)
        except (PromptRejected, HarnessError, SessionError, SettingsError) as error:
            raise CommandFailed(str(error)) from error

    return run


def _prompt(fields: Mapping[str, Any]) -> UserPrompt:
    images = optional(fields, "images", list) or []
    try:
        blocks = [msgspec.convert(image, ImageContent) for image in images]
    except msgspec.ValidationError as error:
        raise CommandFailed(f'"images" must hold {{"type":"image","data","mimeType"}}: {error}') from None
    return UserPrompt(field(fields, "message", str), blocks)


def _queue_mode(fields: Mapping[str, Any]) -> Literal["all", "one-at-a-time"]:
    mode = field(fields, "mode", str)
    if mode not in ("all", "one-at-a-time"):
        raise CommandFailed(f'"mode" must be "all" or "one-at-a-time", not "{mode}"')
    return cast(Literal["all", "one-at-a-time"], mode)
