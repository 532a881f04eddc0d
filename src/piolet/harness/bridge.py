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
        return (await self._hooks.run(CONTEXT, ContextEvent(list(messages)), self._signal())).messages

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
        """Return `options` with the hooks that somebody wants behind the callbacks that they have."""
        wanted, first = self._hooks.wanted, options

        async def on_payload(body: dict[str, Any], model: Model) -> dict[str, Any]:
            if first.on_payload is not None:
                body = await first.on_payload(body, model) or body
            return (await self._hooks.run(BEFORE_PROVIDER_REQUEST, BeforeProviderRequest(body), self._signal())).payload

        async def on_headers(headers: dict[str, str | None], model: Model) -> None:
            if first.on_headers is not None:
                await first.on_headers(headers, model)
            event = await self._hooks.run(BEFORE_PROVIDER_HEADERS, BeforeProviderHeaders(headers), self._signal())
            if event.headers is not headers:
                headers.clear()
                headers.update(event.headers)

        async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
            if first.on_response is not None:
                await first.on_response(status, headers, model)
            await self._hooks.run(AFTER_PROVIDER_RESPONSE, AfterProviderResponse(status, headers), self._signal())

        async def on_provider_event(data: Any, model: Model) -> None:
            if first.on_provider_event is not None:
                await first.on_provider_event(data, model)
            event = ProviderStreamEvent(model.provider, model.api, model.id, data)
            await self._hooks.run(PROVIDER_STREAM_EVENT, event, self._signal())

        return replace(
            options,
            on_payload=on_payload if wanted(BEFORE_PROVIDER_REQUEST) else options.on_payload,
            on_headers=on_headers if wanted(BEFORE_PROVIDER_HEADERS) else options.on_headers,
            on_response=on_response if wanted(AFTER_PROVIDER_RESPONSE) else options.on_response,
            on_provider_event=on_provider_event if wanted(PROVIDER_STREAM_EVENT) else options.on_provider_event,
        )
