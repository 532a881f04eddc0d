"""Floor 1: talk to models. Messages, one event stream over many wire protocols, catalogue, credentials."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.llm.events import AssistantEvent as AssistantEvent
    from piolet.llm.events import DoneEvent as DoneEvent
    from piolet.llm.events import ErrorEvent as ErrorEvent
    from piolet.llm.events import StartEvent as StartEvent
    from piolet.llm.events import TextDelta as TextDelta
    from piolet.llm.events import TextEnd as TextEnd
    from piolet.llm.events import TextStart as TextStart
    from piolet.llm.events import ThinkingDelta as ThinkingDelta
    from piolet.llm.events import ThinkingEnd as ThinkingEnd
    from piolet.llm.events import ThinkingStart as ThinkingStart
    from piolet.llm.events import ToolCallDelta as ToolCallDelta
    from piolet.llm.events import ToolCallEnd as ToolCallEnd
    from piolet.llm.events import ToolCallStart as ToolCallStart
    from piolet.llm.messages import NO_USAGE as NO_USAGE
    from piolet.llm.messages import AssistantMessage as AssistantMessage
    from piolet.llm.messages import ImageContent as ImageContent
    from piolet.llm.messages import Message as Message
    from piolet.llm.messages import StopReason as StopReason
    from piolet.llm.messages import TextContent as TextContent
    from piolet.llm.messages import ThinkingContent as ThinkingContent
    from piolet.llm.messages import ToolCall as ToolCall
    from piolet.llm.messages import ToolResultMessage as ToolResultMessage
    from piolet.llm.messages import Usage as Usage
    from piolet.llm.messages import UserMessage as UserMessage
    from piolet.llm.messages import image as image
    from piolet.llm.messages import text as text
    from piolet.llm.messages import text_of as text_of
    from piolet.llm.model import Context as Context
    from piolet.llm.model import Model as Model
    from piolet.llm.model import ModelCost as ModelCost
    from piolet.llm.model import StreamOptions as StreamOptions
    from piolet.llm.model import ToolSpec as ToolSpec
    from piolet.llm.models import Models as Models
    from piolet.llm.stream import AssistantStream as AssistantStream
    from piolet.llm.stream import StreamFunction as StreamFunction

_MODULES = {
    "events": [
        "AssistantEvent",
        "DoneEvent",
        "ErrorEvent",
        "StartEvent",
        "TextDelta",
        "TextEnd",
        "TextStart",
        "ThinkingDelta",
        "ThinkingEnd",
        "ThinkingStart",
        "ToolCallDelta",
        "ToolCallEnd",
        "ToolCallStart",
    ],
    "messages": [
        "NO_USAGE",
        "AssistantMessage",
        "ImageContent",
        "Message",
        "StopReason",
        "TextContent",
        "ThinkingContent",
        "ToolCall",
        "ToolResultMessage",
        "Usage",
        "UserMessage",
        "image",
        "text",
        "text_of",
    ],
    "model": ["Context", "Model", "ModelCost", "StreamOptions", "ToolSpec"],
    "models": ["Models"],
    "stream": ["AssistantStream", "StreamFunction"],
}

__all__ = [
    "NO_USAGE",
    "AssistantEvent",
    "AssistantMessage",
    "AssistantStream",
    "Context",
    "DoneEvent",
    "ErrorEvent",
    "ImageContent",
    "Message",
    "Model",
    "ModelCost",
    "Models",
    "StartEvent",
    "StopReason",
    "StreamFunction",
    "StreamOptions",
    "TextContent",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingContent",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolResultMessage",
    "ToolSpec",
    "Usage",
    "UserMessage",
    "image",
    "text",
    "text_of",
]

__getattr__ = lazy_exports(
    __name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
