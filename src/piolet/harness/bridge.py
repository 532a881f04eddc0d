"""Between the loop's callbacks and the registry of hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from piolet.agent.batch import Block, PendingCall
from piolet.agent.tools import ToolResult
from piolet.base.abort import AbortSignal
from piolet.harness.hook_points import (
    AFTER_PROVIDER_RESPONSE,
    BEFORE_PROVIDER_HEADERS,
    BEFORE_PROVIDER_REQUEST,
    CONTEXT,
    MESSAGE_END,
    PROVIDER_STREAM_EVENT,
    TOOL_CALL,
    TOOL_RESULT,
    AfterProviderResponse,
    BeforeProviderHeaders,
    BeforeProviderRequest,
    ContextEvent,
    MessageEndEvent,
    ProviderStreamEvent,
    ToolCallEvent,
    ToolResultEvent,
    patched,
)
from piolet.harness.hooks import Hooks
from piolet.harness.messages import SystemMessage
from piolet.llm.messages import BaseMessage
from piolet.llm.model import Model, StreamOptions


class HookBridge:
    """Asks the hooks where the loop calls back. `signal` gives the signal of the run under way.

    `parent_tool_call_id`: the call of a tool that makes the calls asked about; None: the model makes them.
    """

    def __init__(
        self, hooks: Hooks, signal: Callable[[], AbortSignal | None], parent_tool_call_id: str | None = None
    ) -> None:
        self._hooks = hooks
        self._signal = signal
        self._parent = parent_tool_call_id

    async def transform_context(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        if not self._hooks.wanted(CONTEXT):
            return messages
        seen = [message for message in messages if not isinstance(message, SystemMessage)]
        return (await self._hooks.run(CONTEXT, ContextEvent(seen), self._signal())).messages

    async def finalize_message(self, message: BaseMessage) -> BaseMessage:
        if not self._hooks.wanted(MESSAGE_END):
            return message
        return (await self._hooks.run(MESSAGE_END, MessageEndEvent(message), self._signal())).message

    async def before_tool_call(self, pending: PendingCall) -> Block | None:
        if not self._hooks.wanted(TOOL_CALL):
            return None
        event = ToolCallEvent(pending.call.id, pending.call.name, pending.arguments, self._parent)
        event = await self._hooks.run(TOOL_CALL, event, self._signal())
        if event.block is not None:
            return Block(event.block.reason or "Tool call blocked", event.block.terminate)
        if event.input is not pending.arguments:
            pending.arguments.clear()
            pending.arguments.update(event.input)
        return None

    async def after_tool_call(self, pending: PendingCall, result: ToolResult) -> ToolResult | None:
        if not self._hooks.wanted(TOOL_RESULT):
            return None
        event = ToolResultEvent(
            pending.call.id,
            pending.call.name,
            pending.arguments,
            result.content,
            result.details,
            result.is_error,
            result.structured_content,
            result.usage,
            self._parent,
        )
        event = await self._hooks.run(TOOL_RESULT, event, self._signal())
        return patched(result, event) if event.changed else None

    def request_options(self, options: StreamOptions) -> StreamOptions:
        """Return `options` with the callbacks that somebody wants."""
        wanted = self._hooks.wanted
        return replace(
            options,
            on_payload=self._on_payload if wanted(BEFORE_PROVIDER_REQUEST) else options.on_payload,
            on_headers=self._on_headers if wanted(BEFORE_PROVIDER_HEADERS) else options.on_headers,
            on_response=self._on_response if wanted(AFTER_PROVIDER_RESPONSE) else options.on_response,
            on_provider_event=self._on_record if wanted(PROVIDER_STREAM_EVENT) else options.on_provider_event,
        )

    async def _on_payload(self, body: dict[str, Any], model: Model) -> dict[str, Any]:
        return (await self._hooks.run(BEFORE_PROVIDER_REQUEST, BeforeProviderRequest(body), self._signal())).payload

    async def _on_headers(self, headers: dict[str, str | None], model: Model) -> None:
        event = await self._hooks.run(BEFORE_PROVIDER_HEADERS, BeforeProviderHeaders(headers), self._signal())
        if event.headers is not headers:
            headers.clear()
            headers.update(event.headers)

    async def _on_response(self, status: int, headers: Mapping[str, str], model: Model) -> None:
        await self._hooks.run(AFTER_PROVIDER_RESPONSE, AfterProviderResponse(status, headers), self._signal())

    async def _on_record(self, record: Any, model: Model) -> None:
        event = ProviderStreamEvent(model.provider, model.api, model.id, record)
        await self._hooks.run(PROVIDER_STREAM_EVENT, event, self._signal())
