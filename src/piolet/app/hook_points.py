"""The hooks of the product: what a user sends, and leaving a session. Names: the extension specification, section 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from piolet.harness.hooks import Hook
from piolet.llm.messages import ImageContent

Source: TypeAlias = Literal["interactive", "rpc", "extension"]
Behavior: TypeAlias = Literal["steer", "follow_up"]


class InputEvent(Struct, frozen=True):
    """A prompt as typed, after the look for a command and before skills and templates are expanded.

    `streaming_behavior`: how it will be queued if a run is under way.
    """

    text: str
    images: Sequence[ImageContent] = ()
    source: Source = "interactive"
    streaming_behavior: Behavior | None = None
    handled: bool = False


class InputResult(Struct, frozen=True):
    """ "transform" replaces text and images (None leaves them); "handled" takes the prompt: no run starts."""

    action: Literal["continue", "transform", "handled"] = "continue"
    text: str | None = None
    images: Sequence[ImageContent] | None = None


def _fold_input(event: InputEvent, result: InputResult) -> InputEvent:
    match result.action:
        case "transform":
            return replace(
                event,
                text=event.text if result.text is None else result.text,
                images=event.images if result.images is None else result.images,
            )
        case "handled":
            return replace(event, handled=True)
        case _:
            return event


INPUT: Hook[InputEvent, InputResult] = Hook("input", fold=_fold_input, done=lambda event: event.handled)


class BeforeSwitch(Struct, frozen=True):
    """Another session is about to be opened in place of this one."""

    reason: Literal["new", "resume"]
    target_session_file: str | None = None
    cancelled: bool = False


class BeforeFork(Struct, frozen=True):
    """A copy of this session, up to before or at an entry, is about to be opened."""

    entry_id: str
    position: Literal["before", "at"] = "before"
    cancelled: bool = False


class Cancel(Struct, frozen=True):
    """The session stays. The last answer wins; a cancel ends the asking."""

    cancel: bool = True


SESSION_BEFORE_SWITCH: Hook[BeforeSwitch, Cancel] = Hook(
    "session_before_switch",
    fold=lambda event, result: replace(event, cancelled=result.cancel),
    done=lambda event: event.cancelled,
)
SESSION_BEFORE_FORK: Hook[BeforeFork, Cancel] = Hook(
    "session_before_fork",
    fold=lambda event, result: replace(event, cancelled=result.cancel),
    done=lambda event: event.cancelled,
)
