"""Turns what happens in a session into blocks of the transcript. It knows neither toolkit nor runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TypeAlias

from piolet.agent.events import (
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from piolet.harness.events import AutoRetryEnd, CompactionEnd, EntryAppended, HarnessEvent
from piolet.harness.messages import (
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)
from piolet.harness.prompt.skills import parse_skill_block
from piolet.harness.session.entries import CustomEntry
from piolet.llm.events import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from piolet.llm.messages import (
    AssistantMessage,
    BaseMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from piolet.llm.plain_errors import in_plain_words
from piolet.modes.interactive.failure_block import FailureBlock
from piolet.modes.interactive.message_look import Look
from piolet.modes.interactive.shell_card import ShellCard
from piolet.modes.interactive.shown_messages import ShownMessages, calls_of
from piolet.modes.interactive.thinking_block import ThinkingBlock
from piolet.modes.interactive.tool_block import ToolBlock
from piolet.tui.blocks.frame import Frame
from piolet.tui.blocks.live import DrawnBlock, GrowingMarkdown
from piolet.tui.blocks.messages import (
    assistant_lines,
    branch_lines,
    compaction_lines,
    custom_lines,
    skill_lines,
    stop_lines,
    user_lines,
)
from piolet.tui.blocks.notices import error_lines, status_lines, warning_lines
from piolet.tui.pictures import Picture
from piolet.tui.spans import Line
from piolet.tui.transcript import Transcript, TranscriptBlock

Part: TypeAlias = GrowingMarkdown | ToolBlock


class Presenter:
    """Keeps `transcript` in step with the session. `repaint` is called after each change."""

    def __init__(self, transcript: Transcript, look: Look, repaint: Callable[[], None]) -> None:
        self.transcript = transcript
        self.look = look
        self.head: list[TranscriptBlock] = []  # stays whatever session is shown
        self._repaint = repaint
        self._parts: dict[int, Part] = {}  # of the answer that arrives, by content index
        self._tools: dict[str, ToolBlock] = {}  # calls without a result, by id
        self._custom: list[DrawnBlock] = []  # drawn by extensions, in colours of their own
        self._expected: DrawnBlock | None = None
        self._status: DrawnBlock | None = None
        self._error: DrawnBlock | None = None
        self._failure: FailureBlock | None = None  # of the last request that failed
        self._messages = ShownMessages()
        self._added: list[TranscriptBlock] = []  # since the last message
        self._entries: dict[str, DrawnBlock] = {}  # of custom entries, by their ids

    # ------------------------------------------------------------------------------------------------------- notices

    def status(self, text: str) -> None:
        """Show a status; it takes the place of one that stands at the end."""
        if self._status is not None and self._is_last(self._status):
            self.transcript.remove(self._status)
        self._status = DrawnBlock(lambda frame: status_lines(text, frame), text)
        self.add(self._status)

    def warn(self, text: str) -> None:
        self.add(DrawnBlock(lambda frame: warning_lines(text, frame), text))

    def error(self, text: str) -> None:
        """Show an error; the one that stands at the end already is not shown again."""
        if self._error is None or self._error.source != text or not self._is_last(self._error):
            self._error = DrawnBlock(lambda frame: error_lines(text, frame), text)
            self.add(self._error)

    def markdown(self, text: str) -> None:
        """Show a text of the program's own."""
        self.add(DrawnBlock(lambda frame: assistant_lines(text, frame), text))

    def add(self, block: TranscriptBlock) -> None:
        """Put a block at the end."""
        self.transcript.add(block)
        self._added.append(block)
        self._repaint()

    def is_finished(self, block: TranscriptBlock) -> bool:
        """Whether `block` will not change any more by itself."""
        if block is self._expected or (block in (self._status, self._failure) and self._is_last(block)):
            return False
        match block:
            case GrowingMarkdown():
                return block.finished
            case ToolBlock() | ShellCard():
                return block.done
            case _:
                return True

    def _is_last(self, block: TranscriptBlock | None) -> bool:
        return block is not None and self.transcript.blocks[-1:] == [block]

    def remove(self, block: TranscriptBlock) -> None:
        """Take a block out, if it is there."""
        with suppress(KeyError):
            self.transcript.remove(block)
            self._repaint()

    def changed(self, block: TranscriptBlock) -> None:
        """Draw a block anew."""
        self.transcript.changed(block)
        self._repaint()

    # -------------------------------------------------------------------------------------------------- whole session

    def set_head(self, blocks: Sequence[TranscriptBlock]) -> None:
        """Show other blocks at the head."""
        for block in self.head:
            self.remove(block)
        self.head = list(blocks)
        for number, block in enumerate(blocks):
            self.transcript.insert(number, block)
        self._repaint()

    def show_session(
        self,
        messages: Iterable[BaseMessage],
        *,
        entries: Mapping[int, Sequence[CustomEntry]] = MappingProxyType({}),
        anew: bool = False,
    ) -> None:
        """Show `messages` in place of what is there, each below the custom entries of its number in `entries`. What is
        there already keeps its blocks, unless `anew`."""
        before = ShownMessages() if anew else self._messages
        entry_blocks = {} if anew else self._entries
        custom = {id(block) for block in self._custom}
        self._parts, self._tools, self._expected, self._status, self._custom = {}, {}, None, None, []
        self._messages, self._entries = ShownMessages(), {}
        self.transcript.replace_all(self.head)
        answered: set[str] = set()  # calls whose blocks show their results already
        number = -1
        for number, message in enumerate(messages):
            for entry in entries.get(number, ()):
                self.entry(entry, entry_blocks.get(entry.id))
            if (blocks := before.blocks_of(message)) is not None:
                self._messages.note(message, blocks)
                answered |= calls_of(message)
                for block in blocks:
                    self.transcript.add(block)
                    if isinstance(block, DrawnBlock) and id(block) in custom:
                        self._custom.append(block)
            elif not (isinstance(message, ToolResultMessage) and message.tool_call_id in answered):
                self._whole(message)
        for entry in entries.get(number + 1, ()):
            self.entry(entry, entry_blocks.get(entry.id))
        self._repaint()

    def end_calls(self) -> None:
        """Nothing runs, so what has no result will never have one."""
        for block in self._tools.values():
            block.finish([TextContent("Interrupted: there is no result")], None, is_error=True)
            self.changed(block)
        self._tools.clear()

    def shows(self, message: BaseMessage, block: TranscriptBlock) -> None:
        """Take note that `block`, which is there, shows `message`."""
        self._messages.note(message, [block])

    def expect(self, text: str) -> Callable[[], None]:
        """Show a prompt before the session has it; return a function that takes it back."""
        block = self._expected = self._prompt(text)
        self.add(block)

        def take_back() -> None:
            if self._expected is block:
                self._expected = None
                self.transcript.remove(block)
                self._repaint()

        return take_back

    def set_thinking_label(self, label: str) -> None:
        """Show another text in place of hidden thinking."""
        if label == self.look.thinking_label:
            return
        self.look.thinking_label = label
        for block in self.transcript.blocks:
            if isinstance(block, ThinkingBlock):
                block.label = label
                self.transcript.changed(block)
        self._repaint()

    def recolor(self) -> None:
        """The theme is another one: draw again what has colours of its own."""
        for block in self._custom:
            with suppress(KeyError):
                self.transcript.changed(block)
        self._repaint()

    def picture_changed(self, picture: Picture) -> None:
        """Draw again what shows a picture."""
        for block in self.transcript.blocks:
            if isinstance(block, DrawnBlock | ToolBlock) and picture in block.pictures:
                self.transcript.changed(block)
        self._repaint()

    def toggle_thinking(self) -> bool:
        """Hide or show all thinking; return whether it is hidden now."""
        self.look.hide_thinking = hidden = not self.look.hide_thinking
        for block in self.transcript.blocks:
            if isinstance(block, ThinkingBlock):
                block.hidden = hidden
                self.transcript.changed(block)
        self._repaint()
        return hidden

    def tick(self) -> None:
        """Time has passed: draw the calls that run, whose cards tell how long."""
        for block in self._tools.values():
            if block.tells_time:
                self.changed(block)

    # -------------------------------------------------------------------------------------------------------- events

    def on_event(self, event: HarnessEvent) -> None:
        """Take in what happened."""
        match event:
            case MessageStart(message=message) if not isinstance(message, AssistantMessage | ToolResultMessage):
                self._whole(message)
            case MessageStart():
                self._parts = {}
            case MessageUpdate():
                self._stream(event)
            case MessageEnd(message=AssistantMessage() as message):
                self._end_answer(message)
            case ToolExecutionStart():
                block = self._tool(event.tool_call_id, event.tool_name)
                block.start(event.args)
                self.changed(block)
            case ToolExecutionUpdate() if event.tool_call_id in self._tools:
                block = self._tools[event.tool_call_id]
                block.update(event.partial_result)
                self.changed(block)
            case ToolExecutionEnd():
                result = event.result
                block = self._tool(event.tool_call_id, event.tool_name)
                block.finish(result.content, result.details, is_error=event.is_error, duration_ms=event.duration_ms)
                self.changed(block)
                del self._tools[event.tool_call_id]
            case EntryAppended(entry=CustomEntry() as entry):
                self.entry(entry)
            case AutoRetryEnd(success=False, final_error="Retry cancelled"):
                self.status("Retry cancelled")
            case AutoRetryEnd(success=False, final_error=str(why)):
                self._give_up(why, event.attempt)
            case CompactionEnd(aborted=True):
                self.status("Compaction cancelled")
            case CompactionEnd(error_message=str(why)):
                self.error(in_plain_words(why))
            case _:
                pass

    def _give_up(self, why: str, retries: int) -> None:
        failure = self._failure
        if failure is not None and self._is_last(failure) and why.startswith(failure.error):
            failure.give_up(why, retries)
            self.changed(failure)
        else:
            self.error(f"Gave up after {retries + 1} tries: {in_plain_words(why)}")

    def tool(self, call_id: str) -> ToolBlock | None:
        """Return the card of a call that has no result yet."""
        return self._tools.get(call_id)

    def _stream(self, update: MessageUpdate) -> None:
        match update.assistant_message_event:
            case TextStart(content_index=index):
                self._part(index, self._text())
            case ThinkingStart(content_index=index):
                self._part(index, self._thinking())
            case ToolCallStart(content_index=index, id=id, tool_name=name):
                self._part(index, self._tool_block(name or "", id))
            case TextDelta(content_index=index, delta=delta) | ThinkingDelta(content_index=index, delta=delta):
                part = self._parts.get(index)
                if isinstance(part, GrowingMarkdown):
                    part.append(delta)
                    self.changed(part)
            case TextEnd(content_index=index, content=content) | ThinkingEnd(content_index=index, content=content):
                part = self._parts.get(index)
                if isinstance(part, GrowingMarkdown):
                    part.finish(content)
                    self.changed(part)
            case ToolCallDelta(content_index=index, delta=delta):
                part = self._parts.get(index)
                if isinstance(part, ToolBlock):
                    part.feed(delta)
                    self.changed(part)
            case ToolCallEnd(content_index=index, tool_call=call):
                part = self._parts.get(index)
                if isinstance(part, ToolBlock):
                    part.complete(call.name, call.arguments)
                    self._tools[call.id] = part
                    self.changed(part)
            case _:
                pass

    def _part(self, index: int, part: Part) -> None:
        self._parts[index] = part
        self.add(part)

    def _end_answer(self, message: AssistantMessage) -> None:
        """The answer is whole: add what did not come in pieces, and how it ended."""
        for index, block in enumerate(message.content):
            part = self._parts.get(index)
            match block:
                case TextContent(text=text):
                    self._finish_text(index, part, text)
                case ThinkingContent(thinking=text):
                    self._finish_text(index, part if part else self._thinking(), text)
                case ToolCall():
                    self._finish_call(index, part, block, message)
                case _:
                    pass
        for index, part in self._parts.items():
            if index >= len(message.content) and isinstance(part, ToolBlock) and not part.done:
                self._stop_call(part)
        blocks: list[TranscriptBlock] = list(self._parts.values())
        self._parts = {}
        match message.stop_reason:
            case "error":
                blocks.append(self._failed(message))
            case "length" | "aborted" as reason:
                blocks.append(DrawnBlock(lambda frame: stop_lines(reason, "", frame), reason))
                self.add(blocks[-1])
            case _:
                pass
        self._messages.note(message, blocks)

    def _failed(self, message: AssistantMessage) -> FailureBlock:
        """Show that a request failed; a failure like the one that stands at the end takes its place."""
        before = self._failure
        if before is not None and before.error == message.error_message and self._is_last(before):
            self.transcript.remove(before)
        else:
            before = None
        self._failure = FailureBlock(message, before)
        self.add(self._failure)
        return self._failure

    def _finish_text(self, index: int, part: Part | None, text: str) -> None:
        block = part if isinstance(part, GrowingMarkdown) else self._text()
        block.finish(text)
        if index in self._parts:
            self.changed(block)
        elif text.strip():
            self._part(index, block)

    def _finish_call(self, index: int, part: Part | None, call: ToolCall, message: AssistantMessage) -> None:
        if not isinstance(part, ToolBlock):
            part = self._tool_block(call.name, call.id)
            part.complete(call.name, call.arguments)
            self._part(index, part)
        if message.stop_reason in ("error", "aborted"):
            self._stop_call(part)
            self._tools.pop(call.id, None)

    def _stop_call(self, part: ToolBlock) -> None:
        part.finish([], None, is_error=True)
        self.changed(part)

    # -------------------------------------------------------------------------------------------------- whole messages

    def _whole(self, message: BaseMessage) -> None:
        """Show a message that is complete."""
        self._added = []
        self._draw_whole(message)
        if not isinstance(message, AssistantMessage | ToolResultMessage):
            self._messages.note(message, self._added)

    def _draw_whole(self, message: BaseMessage) -> None:
        match message:
            case UserMessage():
                self._user(message)
            case AssistantMessage():
                self._end_answer(message)
            case ToolResultMessage():
                block = self._tool(message.tool_call_id, message.tool_name)
                block.finish(
                    message.content, message.details, is_error=message.is_error, duration_ms=message.duration_ms
                )
                self.changed(block)
                del self._tools[message.tool_call_id]
            case CustomMessage(custom_type=kind, display=True):
                self._custom_message(message, kind)
            case BashExecutionMessage():
                self.add(ShellCard.of(message))
            case CompactionSummaryMessage(summary=summary, tokens_before=tokens):
                self.add(DrawnBlock(lambda frame: compaction_lines(summary, tokens, frame), "compaction"))
            case BranchSummaryMessage(summary=summary):
                self.add(DrawnBlock(lambda frame: branch_lines(summary, frame), "branch"))
            case _:
                pass

    def _custom_message(self, message: CustomMessage, kind: str) -> None:
        text, look = text_of(message.content), self.look
        pictures = look.pictures(message.content)

        def draw(frame: Frame) -> Sequence[Line]:
            own = look.custom.message(message, frame) if look.custom is not None else None
            return custom_lines(kind, text, frame, pictures) if own is None else own

        self._add_custom(DrawnBlock(draw, text, pictures=pictures))

    def entry(self, entry: CustomEntry, block: DrawnBlock | None = None) -> None:
        """Show a custom entry, if an extension draws it, by the `block` that showed it before."""
        custom = self.look.custom
        if custom is not None and custom.draws_entries(entry.custom_type):
            block = block or DrawnBlock(lambda frame: custom.entry(entry, frame) or ())
            self._entries[entry.id] = block
            self._add_custom(block)

    def _add_custom(self, block: DrawnBlock) -> None:
        self._custom.append(block)
        self.add(block)

    def _user(self, message: UserMessage) -> None:
        expected, self._expected = self._expected, None
        if expected is not None:
            self.transcript.remove(expected)
        text = text_of(message.content)
        pictures = self.look.pictures(message.content)
        skill = parse_skill_block(text)
        if skill is not None:
            name, body, text = skill.name, skill.content, skill.user_message or ""
            self.add(DrawnBlock(lambda frame: skill_lines(name, body, frame), name, is_prompt=not text))
        if text or pictures or skill is None:
            self.add(self._prompt(text, pictures))

    def _prompt(self, text: str, pictures: Sequence[Picture] = ()) -> DrawnBlock:
        transform = self.look.transformer("user")
        shown = text if transform is None else transform(text, False)
        return DrawnBlock(lambda frame: user_lines(shown, frame, pictures), text, is_prompt=True, pictures=pictures)

    def _thinking(self) -> ThinkingBlock:
        look = self.look
        transform = look.transformer("assistant-thinking")
        return ThinkingBlock(hidden=look.hide_thinking, label=look.thinking_label, transform=transform)

    def _text(self) -> GrowingMarkdown:
        return GrowingMarkdown(transform=self.look.transformer("assistant"))

    def _tool(self, call_id: str, name: str) -> ToolBlock:
        """Return the card of a call; one whose call was never shown is made."""
        if call_id not in self._tools:
            self.add(self._tool_block(name, call_id))
        return self._tools[call_id]

    def _tool_block(self, name: str, call_id: str | None) -> ToolBlock:
        look = self.look
        block = ToolBlock(name, pictures=look.pictures, cwd=look.cwd, home=look.home, renderers=look.renderers)
        if call_id is not None:
            self._tools[call_id] = block
        return block
