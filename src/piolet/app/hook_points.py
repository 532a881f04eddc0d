"""The hooks of the product: what a user sends, and the life of a session (the extension specification, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from piolet.harness.environments.base import Environment
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
    skip_conversation_restore: bool = False


class Cancel(Struct, frozen=True):
    """The session stays. The last answer wins; a cancel ends the asking."""

    cancel: bool = True


class ForkDecision(Struct, frozen=True):
    """`cancel`: the session stays. `skip_conversation_restore`: the copy keeps the whole branch; something else (files,
    say) was taken back to the entry instead. The last answer wins; a cancel ends the asking."""

    cancel: bool = False
    skip_conversation_restore: bool = False


SESSION_BEFORE_SWITCH: Hook[BeforeSwitch, Cancel] = Hook(
    "session_before_switch",
    fold=lambda event, result: replace(event, cancelled=result.cancel),
    done=lambda event: event.cancelled,
)
SESSION_BEFORE_FORK: Hook[BeforeFork, ForkDecision] = Hook(
    "session_before_fork",
    fold=lambda event, result: replace(
        event, cancelled=result.cancel, skip_conversation_restore=result.skip_conversation_restore
    ),
    done=lambda event: event.cancelled,
)

# ---- the life of a session


class SessionStart(Struct, frozen=True):
    """A session is open and its extensions are bound to it."""

    reason: Literal["startup", "reload", "new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionShutdown(Struct, frozen=True):
    """A session, or its extensions, are about to go."""

    reason: Literal["quit", "reload", "new", "resume", "fork"]
    target_session_file: str | None = None


class ResourcePaths(Struct, frozen=True):
    """Files and folders with resources, relative to the working folder; ``~`` is expanded."""

    skill_paths: Sequence[str] = ()
    prompt_paths: Sequence[str] = ()
    theme_paths: Sequence[str] = ()


class ResourcesDiscover(Struct, frozen=True):
    """Where else are resources? What handlers answer is joined in `found`."""

    cwd: str
    reason: Literal["startup", "reload"]
    found: ResourcePaths = ResourcePaths()


SESSION_START: Hook[SessionStart, None] = Hook("session_start")
SESSION_SHUTDOWN: Hook[SessionShutdown, None] = Hook("session_shutdown")
RESOURCES_DISCOVER: Hook[ResourcesDiscover, ResourcePaths] = Hook(
    "resources_discover",
    fold=lambda event, more: replace(
        event,
        found=ResourcePaths(
            (*event.found.skill_paths, *more.skill_paths),
            (*event.found.prompt_paths, *more.prompt_paths),
            (*event.found.theme_paths, *more.theme_paths),
        ),
    ),
)

# ---- the user's own commands


class BashResult(Struct, frozen=True):
    """What a command gave that somebody else ran. `exit_code` None: it was killed."""

    output: str
    exit_code: int | None = 0
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None


class UserBashResult(Struct, frozen=True):
    """Exactly one of them: where to run the command, or what it gave."""

    environment: Environment | None = None
    result: BashResult | None = None


class UserBash(Struct, frozen=True):
    """The user's ``!command`` is about to run in `cwd`. The first answer wins; a failure stops the command."""

    command: str
    exclude_from_context: bool
    cwd: str
    answer: UserBashResult | None = None
    failure: Exception | None = None


def _take_answer(event: UserBash, answer: UserBashResult) -> UserBash:
    if (answer.environment is None) == (answer.result is None):
        raise ValueError("a handler of user_bash gives either an environment or a result")
    return replace(event, answer=answer)


USER_BASH: Hook[UserBash, UserBashResult] = Hook(
    "user_bash",
    fold=_take_answer,
    done=lambda event: event.answer is not None or event.failure is not None,
    failed=lambda event, error: replace(event, failure=error),
)

# ---- questions of extensions


class UiPrompt(Struct, frozen=True):
    """A dialog of an extension opens or is over. Dialogs that overlap count as one."""

    reason: str
    kind: Literal["select", "confirm", "input", "editor", "custom"]
    title: str


UI_PROMPT_START: Hook[UiPrompt, None] = Hook("ui_prompt_start")
UI_PROMPT_END: Hook[UiPrompt, None] = Hook("ui_prompt_end")
