"""Floor 1: talk to models. Messages, one event stream over many wire protocols, catalogue, credentials."""

from typing import TYPE_CHECKING

from piolet.base.lazy import lazy_exports

if TYPE_CHECKING:
    from piolet.llm.messages import (
        AssistantMessage as AssistantMessage,
    )
    from piolet.llm.messages import (
        ImageContent as ImageContent,
    )
    from piolet.llm.messages import (
        Message as Message,
    )
    from piolet.llm.messages import (
        TextContent as TextContent,
    )
    from piolet.llm.messages import (
        ThinkingContent as ThinkingContent,
    )
    from piolet.llm.messages import (
        ToolCall as ToolCall,
    )
    from piolet.llm.messages import (
        ToolResultMessage as ToolResultMessage,
    )
    from piolet.llm.messages import (
        Usage as Usage,
    )
    from piolet.llm.messages import (
        UserMessage as UserMessage,
    )
    from piolet.llm.messages import (
        image as image,
    )
    from piolet.llm.messages import (
        text as text,
    )
    from piolet.llm.model import (
        Context as Context,
    )
    from piolet.llm.model import (
        Model as Model,
    )
    from piolet.llm.model import (
        ModelCost as ModelCost,
    )
    from piolet.llm.model import (
        StreamOptions as StreamOptions,
    )
    from piolet.llm.model import (
        ToolSpec as ToolSpec,
    )
    from piolet.llm.models import Models as Models
    from piolet.llm.stream import AssistantStream as AssistantStream
    from piolet.llm.stream import StreamFunction as StreamFunction

__all__ = [
    "AssistantMessage",
    "AssistantStream",
    "Context",
    "ImageContent",
    "Message",
    "Model",
    "ModelCost",
    "Models",
    "StreamFunction",
    "StreamOptions",
    "TextContent",
    "ThinkingContent",
    "ToolCall",
    "ToolResultMessage",
    "ToolSpec",
    "Usage",
    "UserMessage",
    "image",
    "text",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "AssistantMessage": "piolet.llm.messages",
        "AssistantStream": "piolet.llm.stream",
        "Context": "piolet.llm.model",
        "ImageContent": "piolet.llm.messages",
        "Message": "piolet.llm.messages",
        "Model": "piolet.llm.model",
        "ModelCost": "piolet.llm.model",
        "Models": "piolet.llm.models",
        "StreamFunction": "piolet.llm.stream",
        "StreamOptions": "piolet.llm.model",
        "TextContent": "piolet.llm.messages",
        "ThinkingContent": "piolet.llm.messages",
        "ToolCall": "piolet.llm.messages",
        "ToolResultMessage": "piolet.llm.messages",
        "ToolSpec": "piolet.llm.model",
        "Usage": "piolet.llm.messages",
        "UserMessage": "piolet.llm.messages",
        "image": "piolet.llm.messages",
        "text": "piolet.llm.messages",
    },
)
