"""The one impure step: asking a model for a summary (the compaction specification, section 5).

Each request stands alone: no tools, no cache writes, a session id of its own, no thinking in the material.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import reduce
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from piolet.base.ids import now_ms, uuid7
from piolet.base.json import number
from piolet.harness.compaction import wording
from piolet.harness.compaction.prepare import Preparation
from piolet.harness.compaction.serialize import serialize_conversation
from piolet.harness.messages import AgentMessage, convert_to_llm
from piolet.llm.estimate import tokens_of_chars, utf16_length
from piolet.llm.messages import AssistantMessage, Cost, TextContent, ThinkingLevel, Usage, UserMessage
from piolet.llm.model import Context, Model, StreamOptions

#: Sends one request and returns the final answer; retries are its matter.
Ask: TypeAlias = Callable[[Model, Context, StreamOptions], Awaitable[AssistantMessage]]


class SummaryFailed(Exception):
    """No summary that could be stored; the text says why."""


class SummaryAborted(Exception):
    """The summary was stopped on request."""


class Summary(Struct, frozen=True):
    """A summary with its file lists, as it is stored."""

    text: str
    details: dict[str, list[str]]
    usage: Usage | None = None


class Summarizer(Struct, frozen=True):
    """Who writes, and how it is asked. `level`: the session's thinking level."""

    ask: Ask
    model: Model
    options: StreamOptions
    level: ThinkingLevel = "off"

    async def compact(self, preparation: Preparation, focus: str | None = None) -> Summary:
        """Write the summary of `preparation`. Raises `SummaryFailed`, `SummaryAborted`.

        What is too much for the window of the model that writes, since another model's was larger, is summarized
        portion by portion.
        """
        usages: list[Usage] = []

        async def ask(prompt: str) -> str:
            answer = await self.request(prompt)
            usages.append(answer.usage)
            return answer.text

        reserve = preparation.settings.reserve_tokens
        summary = preparation.previous_summary
        for portion in portions(preparation.messages_to_summarize, self.model.context_window, reserve):
            summary = await ask(history_prompt(portion, summary, focus))
        text = summary or wording.NO_HISTORY
        prefixes = portions(preparation.turn_prefix_messages, self.model.context_window, reserve)
        if prefixes:
            front = [await ask(turn_prefix_prompt(portion, focus)) for portion in prefixes]
            text += "\n\n".join(["\n\n---", "**Turn Context (split turn):**", *front])
        usage = reduce(add_usage, usages) if usages else None
        return Summary(text + preparation.file_ops.tags(), preparation.file_ops.details(), usage)

    async def request(self, prompt: str) -> AssistantMessage:
        """Ask for one text and refuse an answer that is not a whole one."""
        reasoning = self.level if self.model.reasoning and self.level != "off" else None
        options = replace(
            self.options, cache_retention="none", session_id=uuid7(), reasoning=reasoning, max_tokens=None
        )
        messages = [UserMessage([TextContent(prompt)], now_ms())]
        answer = await self.ask(self.model, Context(messages, wording.SYSTEM_PROMPT), options)
        match answer.stop_reason:
            case _ if options.signal is not None and options.signal.aborted:
                raise SummaryAborted("Compaction cancelled")
            case "aborted":
                raise SummaryAborted("Compaction cancelled")
            case "error":
                raise SummaryFailed(answer.error_message or "the model gave no answer")
            case "length":
                raise SummaryFailed("the summary was cut off at the model's output limit")
            case _ if answer.tool_calls:
                raise SummaryFailed("the model called a tool instead of writing a summary")
            case _ if not answer.text.strip():
                raise SummaryFailed("the model wrote an empty summary")
        return answer


def portions(messages: Sequence[AgentMessage], window: int, reserve_tokens: int) -> Sequence[Sequence[AgentMessage]]:
    """Return `messages` in as many parts as a model with this window (0: unknown) needs: mostly one, none if empty."""
    room = max(window - reserve_tokens, window // 2)
    sizes = [tokens_of_chars(utf16_length(_material([message]))) for message in messages]
    if not window or sum(sizes) <= room:
        return [messages] if messages else []
    parts: list[list[AgentMessage]] = [[]]
    filled = 0
    for message, size in zip(messages, sizes, strict=True):
        if filled + size > room // 2 and parts[-1]:  # half: estimates are wrong by some percent
            parts.append([])
            filled = 0
        parts[-1].append(message)
        filled += size
    return parts


def history_prompt(messages: Sequence[AgentMessage], previous: str | None, focus: str | None) -> str:
    """Return the request for a first summary, or for bringing `previous` up to date."""
    parts = [f"<conversation>\n{_material(messages)}\n</conversation>"]
    if previous is not None:
        parts.append(f"<previous-summary>\n{previous}\n</previous-summary>")
    parts.append(wording.FIRST if previous is None else wording.UPDATE)
    return "\n\n".join([*parts, *_focus(focus)])


def turn_prefix_prompt(messages: Sequence[AgentMessage], focus: str | None) -> str:
    """Return the request for the front of a split turn."""
    parts = [f"# Conversation\n{_material(messages)}", f"# Instructions\n{wording.TURN_PREFIX}"]
    return "\n\n".join([*parts, *_focus(focus)])


def branch_prompt(messages: Sequence[AgentMessage], instructions: str | None, *, instead: bool) -> str:
    """Return the request for the summary of a branch; `instructions` are a focus, or take the place of ours."""
    conversation = f"<conversation>\n{_material(messages)}\n</conversation>"
    if instructions and instead:
        return f"{conversation}\n\n{instructions}"
    return "\n\n".join([conversation, wording.BRANCH, *_focus(instructions)])


def _material(messages: Sequence[AgentMessage]) -> str:
    return serialize_conversation(convert_to_llm(messages))


def _focus(focus: str | None) -> list[str]:
    return [f"Additional focus: {focus}"] if focus else []


def add_usage(one: Usage, two: Usage) -> Usage:
    """Return the sum of two usages; an optional field is there if either has it."""

    def both(a: int | None, b: int | None) -> int | None:
        return None if a is None and b is None else (a or 0) + (b or 0)

    def dollars(a: float, b: float) -> float:
        return number(float(a + b))

    cost = Cost(
        input=dollars(one.cost.input, two.cost.input),
        output=dollars(one.cost.output, two.cost.output),
        cache_read=dollars(one.cost.cache_read, two.cost.cache_read),
        cache_write=dollars(one.cost.cache_write, two.cost.cache_write),
        total=dollars(one.cost.total, two.cost.total),
        total_from_provider=bool(one.cost.total_from_provider and two.cost.total_from_provider),
    )
    return Usage(
        input=one.input + two.input,
        output=one.output + two.output,
        cache_read=one.cache_read + two.cache_read,
        cache_write=one.cache_write + two.cache_write,
        total_tokens=one.total_tokens + two.total_tokens,
        cost=cost,
        cache_write_1h=both(one.cache_write_1h, two.cache_write_1h),
        reasoning=both(one.reasoning, two.reasoning),
    )
