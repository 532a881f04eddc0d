"""A harness over scripted models, with its events as lines that read like the specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from piolet.agent.tools import AgentTool
from piolet.harness.compaction import wording
from piolet.harness.compaction.compactor import CompactionPolicy
from piolet.harness.compaction.settings import CompactionSettings
from piolet.harness.environments.local import LocalEnvironment
from piolet.harness.events import AutoRetryEnd, AutoRetryStart, CompactionEnd, CompactionStart, EntryAppended
from piolet.harness.harness import AgentHarness
from piolet.harness.hooks import HookFailure, Hooks
from piolet.harness.retry import RetryPolicy
from piolet.harness.session.session import Session
from piolet.llm.handoff import prepare_history, word_id
from piolet.llm.messages import AssistantMessage, BaseMessage, UserMessage, text_of
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.stream import AssistantStream
from tests.agent.conversation import ECHO, check_context, line
from tests.support.scripted_model import MODEL, Reply, Request, ScriptedModel, says

#: Two answers of which a compaction that keeps little summarizes the first.
HISTORY = (says("first " + "x" * 400), says("second " + "x" * 400))
TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"
QUICK = RetryPolicy(base_delay_ms=1)
#: Events around agent runs.
RUN = ("agent_start", "agent_end", "agent_settled", "auto_retry_start", "auto_retry_end")


class TwoScripts:
    """Answers requests for summaries from a script of their own."""

    def __init__(self, main: ScriptedModel, summaries: ScriptedModel) -> None:
        self._main, self._summaries = main, summaries

    def stream(self, model: Model, context: Context, options: StreamOptions) -> AssistantStream:
        script = self._summaries if context.system_prompt == wording.SYSTEM_PROMPT else self._main
        return script(model, context, options)


class Harness:
    """A harness over a scripted model and, unless one is given, a session in memory. `lines` are its events.

    `window`: tokens of the model. `keep`, `reserve`: of the compaction. `summaries` answer summary requests, the last
    one any further.
    """

    def __init__(
        self,
        *replies: Reply,
        tools: Sequence[AgentTool] = (ECHO,),
        summaries: Sequence[Reply] = (says("SUMMARY"),),
        window: int = 100_000,
        keep: int = 20,
        reserve: int = 1000,
        session: Session | None = None,
        last: Reply | None = None,
        **more: Any,
    ) -> None:
        self.model = ScriptedModel(*replies, last=last)
        self.summarizer = ScriptedModel(*summaries, last=summaries[-1] if summaries else None)
        self.failures: list[HookFailure] = []
        more.setdefault(
            "compaction",
            CompactionPolicy(lambda model: CompactionSettings(reserve_tokens=reserve, keep_recent_tokens=keep)),
        )
        self.harness = AgentHarness(
            models=TwoScripts(self.model, self.summarizer),
            model=structs.replace(MODEL, context_window=window),
            environment=LocalEnvironment("/"),
            session=session or Session.in_memory("/"),
            tools=tools,
            hooks=Hooks(self.failures.append),
            **more,
        )
        self.events: list[Any] = []
        self.harness.subscribe(self.events.append)

    @property
    def lines(self) -> list[str]:
        return [told(event) for event in self.events if event.type not in ("message_update", "entry_appended")]

    def outline(self, *kinds: str) -> list[str]:
        """The lines of events of these types."""
        return [told(event) for event in self.events if event.type in kinds]

    def stored(self) -> list[str]:
        """The context that the session gives, as ``role: text``."""
        return [told_message(message) for message in self.harness.session.build_context().messages]

    def entries(self) -> list[str]:
        """The types of the entries on the branch; of messages the role."""
        return [head.role or head.type for head in self.harness.session.path_heads()]

    def sent(self, index: int = -1) -> list[str]:
        """What the request of that number sent, as ``role: text``."""
        return [told_message(message) for message in self.model.requests[index].context.messages]

    def check(self) -> None:
        """Fail unless session and agent agree, and every request was one that a provider takes."""
        mine = [told_message(m) for m in self.harness.agent.messages]
        assert mine == self.stored()
        for request in self.model.requests:
            check_request(request)


def check_request(request: Request, *, branches: bool = False) -> None:
    """Fail unless a provider takes the request. With `branches` answers may follow each other, as after a move to an
    answer in the tree and one more request that a handler asked for."""
    kept: list[BaseMessage] = []
    for message in prepare_history(request.context.messages, request.model, word_id(64)):
        if branches and isinstance(message, AssistantMessage) and (not kept or isinstance(kept[-1], AssistantMessage)):
            kept.append(UserMessage("", 0))
        kept.append(message)
    check_context(kept)


def told(event: Any) -> str:
    match event:
        case CompactionStart(reason=reason):
            return f"compaction_start {reason}"
        case CompactionEnd(reason=reason, result=result, aborted=aborted, error_message=error):
            return f"compaction_end {reason} " + ("ok" if result else "aborted" if aborted else str(error))
        case AutoRetryStart(attempt=attempt):
            return f"auto_retry_start {attempt}"
        case AutoRetryEnd(success=success, attempt=attempt, final_error=error):
            return f"auto_retry_end {attempt} " + ("ok" if success else str(error))
        case EntryAppended(entry=entry):
            return f"entry_appended {entry.type}"
        case _:
            return line(event)


def told_message(message: Any) -> str:
    text = message.summary if hasattr(message, "summary") else text_of(getattr(message, "content", ""))
    return f"{message.role}: {text}"


def policy(reserve: int = 1000, keep: int = 20, *, enabled: bool = True) -> CompactionPolicy:
    return CompactionPolicy(lambda model: CompactionSettings(enabled, reserve, keep))
