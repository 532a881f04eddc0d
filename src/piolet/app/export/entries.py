"""One entry of a session as HTML: who says it, when, and what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from piolet.app.export.markup import Markup
from piolet.app.renderers.generic import GENERIC
from piolet.app.renderers.registry import BUILT_IN
from piolet.app.renderers.view import ToolView
from piolet.base.json import dumps
from piolet.harness.messages import BashExecutionMessage, OpaqueMessage
from piolet.harness.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UsageEntry,
)
from piolet.llm.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    text_of,
)
from piolet.tui.blocks.frame import Frame

#: Cells of a line of a tool call: it is the page that wraps.
_UNWRAPPED = 100_000


class EntryHtml(Struct, frozen=True):
    """`kind`: the class of the element. `title`: who or what. `body`: HTML, may be empty."""

    kind: str
    title: str
    body: str = ""


class EntryWriter:
    """Writes entries. `entries`: all of the session, since a tool call shows its result, which is another entry."""

    def __init__(self, markup: Markup, entries: Collection[Entry], cwd: str) -> None:
        self._markup = markup
        self._cwd = cwd
        self._results: dict[str, ToolResultMessage] = {}
        self._shown_in_calls: set[str] = set()
        messages = [(entry.id, entry.message) for entry in entries if isinstance(entry, MessageEntry)]
        calls = {
            call.id for _, message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls
        }
        for entry_id, message in messages:
            if isinstance(message, ToolResultMessage) and message.tool_call_id in calls:
                calls.remove(message.tool_call_id)  # of several results only the first
                self._results[message.tool_call_id] = message
                self._shown_in_calls.add(entry_id)

    def entry(self, entry: Entry) -> EntryHtml | None:
        """Return the HTML of an entry; None for a result that its call shows."""
        markup = self._markup
        match entry:
            case MessageEntry(id=id, message=message):
                return None if id in self._shown_in_calls else self._message(message)
            case CustomMessageEntry(custom_type=kind, content=content, display=display):
                return EntryHtml("custom" if display else "custom hidden", kind, self._blocks(content))
            case CompactionEntry(summary=summary, tokens_before=tokens):
                return EntryHtml("summary", f"Compaction of {tokens} tokens", markup.markdown(summary))
            case BranchSummaryEntry(summary=summary):
                return EntryHtml("summary", "Summary of the branch that was left", markup.markdown(summary))
            case ModelChangeEntry(provider=provider, model_id=model):
                return EntryHtml("note", f"Model {provider}/{model}")
            case ThinkingLevelChangeEntry(thinking_level=level):
                return EntryHtml("note", f"Thinking {level}")
            case SessionInfoEntry(name=name):
                return EntryHtml("note", f"Named {name}" if name else "Name cleared")
            case LabelEntry(target_id=target, label=label):
                return EntryHtml("note", f"Label {label} on {target}" if label else f"Label of {target} cleared")
            case UsageEntry(kind=kind, usage=usage):
                return EntryHtml("note", f"Model work beside the conversation: {kind}", self._usage(usage))
            case ContextEditEntry(target_id=target, replacement=replacement):
                done = "left out of" if replacement is None else "changed in"
                return EntryHtml("note", f"{target} {done} what the model sees from here on")
            case CustomEntry(custom_type=kind, data=data):
                return EntryHtml("note", f"State of {kind}", self._folded("data", markup.preformatted(dumps(data))))
            case _:
                return EntryHtml("note", entry.type, self._folded("data", markup.preformatted(dumps(entry.raw))))

    def _message(self, message: Any) -> EntryHtml:
        markup = self._markup
        match message:
            case UserMessage(content=content):
                return EntryHtml("user", "User", self._blocks(content))
            case AssistantMessage():
                return EntryHtml("assistant", f"{message.provider}/{message.model}", self._answer(message))
            case ToolResultMessage():
                return EntryHtml("tool", f"Result of {message.tool_name}", self._blocks(message.content, plain=True))
            case BashExecutionMessage():
                hidden = ", not shown to the model" if message.exclude_from_context else ""
                body = markup.preformatted(f"$ {message.command}\n{message.output}")
                return EntryHtml("tool", f"Command of the user{hidden}", body + self._exit(message))
            case OpaqueMessage(raw=raw):
                return EntryHtml("note", "Message", self._folded("data", markup.preformatted(dumps(raw))))
            case _:
                return EntryHtml("custom", message.role, self._blocks(getattr(message, "content", "")))

    def _answer(self, message: AssistantMessage) -> str:
        parts = []
        for block in message.content:
            match block:
                case TextContent(text=text):
                    parts.append(self._markup.markdown(text))
                case ThinkingContent(thinking=thinking):
                    shown = thinking or "(kept from us by the provider)"
                    parts.append(self._folded("Thinking", self._markup.markdown(shown)))
                case ToolCall():
                    parts.append(self._call(block))
                case _:
                    parts.append(self._folded("data", self._markup.preformatted(dumps(block.raw))))
        if message.error_message:
            parts.append(f'<p class="failure">{self._markup.text(message.error_message)}</p>')
        return "".join(parts) + self._usage(message.usage)

    def _call(self, call: ToolCall) -> str:
        """Return the card of a call, drawn by the renderer that the terminal uses too."""
        result = self._results.get(call.id)
        view = ToolView(
            name=call.name,
            args=call.arguments,
            state="running" if result is None else "done",
            text="" if result is None else text_of(result.content, "\n"),
            details=None if result is None else result.details,
            is_error=result is not None and result.is_error,
            cwd=self._cwd,
        )
        frame = Frame(_UNWRAPPED, expanded=True, hyperlinks=False)
        renderer = BUILT_IN.get(call.name, GENERIC)
        try:
            head, body = renderer.call(view, frame), renderer.body(view, frame)
        except Exception:  # arguments of any shape may stand in a file
            head, body = GENERIC.call(view, frame), GENERIC.body(view, frame)
        images = [] if result is None else [block for block in result.content if isinstance(block, ImageContent)]
        shown = self._markup.lines(body) + "".join(map(self._markup.image, images))
        kind = "failed" if view.is_error else "open" if result is None else "done"
        summary = self._markup.lines(head)
        if not shown:
            return f'<div class="call {kind}">{summary}</div>'
        return f'<details open class="call {kind}"><summary>{summary}</summary>{shown}</details>'

    def _blocks(self, content: str | Sequence[Any], *, plain: bool = False) -> str:
        markup = self._markup
        write = markup.preformatted if plain else markup.markdown
        blocks: Sequence[Any] = [TextContent(content)] if isinstance(content, str) else content
        parts = []
        for block in blocks:
            match block:
                case TextContent(text=text):
                    parts.append(write(text))
                case ImageContent():
                    parts.append(markup.image(block))
                case _:
                    parts.append(self._folded("data", markup.preformatted(dumps(block.raw))))
        return "".join(parts)

    def _exit(self, message: BashExecutionMessage) -> str:
        if message.cancelled:
            return '<p class="failure">cancelled</p>'
        return f'<p class="failure">exit code {message.exit_code}</p>' if message.exit_code else ""

    def _usage(self, usage: Usage) -> str:
        if not usage.total_tokens:
            return ""
        cost = f", ${usage.cost.total:.4f}" if usage.cost.total else ""
        cached = f" ({usage.cache_read} cached)" if usage.cache_read else ""
        return f'<p class="usage">{usage.input + usage.cache_read} in{cached}, {usage.output} out{cost}</p>'

    def _folded(self, title: str, body: str) -> str:
        return f'<details class="folded"><summary>{title}</summary>{body}</details>' if body else ""
