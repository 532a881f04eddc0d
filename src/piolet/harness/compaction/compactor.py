"""``Compactor``: makes one compaction from start to end: plan, ask the hooks, summarize, store, tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from piolet.base.abort import Aborted, AbortSignal, sleep
from piolet.base.ids import parse_time
from piolet.harness.compaction.estimate import (
    estimate_context,
    estimate_projected,
    project,
    sum_of_tokens,
    usable_usage,
)
from piolet.harness.compaction.hook_points import SESSION_BEFORE_COMPACT, BeforeCompact, CompactionProposal
from piolet.harness.compaction.prepare import Preparation, prepare
from piolet.harness.compaction.settings import CompactionSettings, should_compact
from piolet.harness.compaction.summarize import Summarizer, SummaryAborted, SummaryFailed
from piolet.harness.errors import Cancelled, CompactionFailed, HarnessError, NothingToDo
from piolet.harness.events import (
    CompactionEnd,
    CompactionReason,
    CompactionResult,
    CompactionStart,
    SessionCompact,
    SessionCompactFailed,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)
from piolet.harness.retry import Retry, next_try
from piolet.harness.session.entries import CompactionEntry, Entry
from piolet.harness.stats import ContextUsage
from piolet.llm.estimate import usage_tokens
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import Context, Model, StreamOptions, ToolSpec

if TYPE_CHECKING:
    from piolet.harness.harness import AgentHarness

_PREFIXES = {
    "manual": "Compaction failed: ",
    "threshold": "Auto-compaction failed: ",
    "overflow": "Context overflow recovery failed: ",
}
GAVE_UP = (
    "Context overflow recovery failed after one compact-and-retry attempt. Shorten the question or use a model with a "
    "larger window."
)


class CompactionPolicy(Struct, frozen=True):
    """How a harness compacts.

    `settings` gives those for a model. `summary_model`: who writes summaries instead of the session's model (None: it).
    `branch_reserve_tokens`: what branch summaries leave free of the window.
    """

    settings: Callable[[Model], CompactionSettings] = lambda model: CompactionSettings()
    summary_model: Callable[[], Model | None] = lambda: None
    branch_reserve_tokens: Callable[[], int] = lambda: 16384

    def with_enabled(self, enabled: bool) -> CompactionPolicy:
        """Return the same policy with automatic compaction on or off."""
        return replace(self, settings=lambda model: replace(self.settings(model), enabled=enabled))


class Compactor:
    """Compacts the session of one harness. It keeps nothing between two compactions."""

    def __init__(self, harness: AgentHarness) -> None:
        self._harness = harness
        self.running = False

    # ---- when

    def settings(self) -> CompactionSettings:
        return self._harness.compaction.settings(self._harness.model)

    def is_due(self, message: AssistantMessage | None) -> bool:
        """Whether the context that `message` ended is too full (the specification, section 1)."""
        settings = self.settings()
        if message is None or not settings.enabled:
            return False
        compacted = self._last_compaction_ms()
        if compacted is not None and message.timestamp <= compacted:
            return False
        window = self._harness.model.context_window
        usage = usable_usage(message)
        if any(head.type == "context_edit" for head in self._harness.session.path_heads()):
            tokens = estimate_projected(self.path(), self._harness.agent.system_prompt or "", self._tools()).tokens
        elif usage is not None:
            tokens = usage_tokens(usage)
        else:
            messages = self._harness.agent.messages
            estimate = estimate_context(messages)
            anchor = None if estimate.last_usage_index is None else messages[estimate.last_usage_index]
            if isinstance(anchor, AssistantMessage) and compacted is not None and anchor.timestamp <= compacted:
                return False
            tokens = estimate.tokens
        return should_compact(tokens, window, settings)

    def is_due_between_turns(self) -> bool:
        """Whether the next request of a run would find the context too full."""
        settings = self.settings()
        if not settings.enabled:
            return False
        estimate = estimate_projected(self.path(), self._harness.agent.system_prompt or "", self._tools())
        return should_compact(estimate.tokens, self._harness.model.context_window, settings)

    def context_usage(self) -> ContextUsage:
        """Return how full the window is; unknown after a compaction until a provider has told."""
        window = self._harness.model.context_window
        messages = self._harness.agent.messages
        compacted = self._last_compaction_ms()
        estimate = estimate_context(messages)
        if compacted is not None:
            anchor = None if estimate.last_usage_index is None else messages[estimate.last_usage_index]
            if not isinstance(anchor, AssistantMessage) or anchor.timestamp <= compacted:
                return ContextUsage(None, window)
        return ContextUsage(estimate.tokens, window)

    def path(self) -> list[Entry]:
        """Return the active branch from what the last compaction kept: nothing older matters any more."""
        session = self._harness.session
        heads = session.path_heads()
        last = next((i for i in range(len(heads) - 1, -1, -1) if heads[i].type == "compaction"), None)
        if last is not None:
            heads = heads[next((i for i in range(last) if heads[i].id == heads[last].link), last) :]
        return [session.entry(head) for head in heads]

    def _last_compaction_ms(self) -> int | None:
        session = self._harness.session
        for head in reversed(session.path_heads()):
            if head.type == "compaction":
                return parse_time(session.entry(head).timestamp) or 0
        return None

    def _tools(self) -> Sequence[ToolSpec]:
        return [tool.spec() for tool in self._harness.agent.tools]

    # ---- how

    async def compact(
        self,
        reason: CompactionReason,
        signal: AbortSignal,
        focus: str | None = None,
        *,
        will_retry: bool = False,
    ) -> CompactionResult | None:
        """Make one compaction and tell of it. Return None if an automatic one had nothing to do or failed.

        A manual one raises `NothingToDo`, `Cancelled`, `CompactionFailed`. Nothing is stored unless it succeeds.
        """
        path = self.path()
        preparation = prepare(path, self.settings())
        if preparation is None and reason != "manual":
            return None
        self.running = True
        proposal: CompactionProposal | None = None
        try:
            await self._harness.publish(CompactionStart(reason))
            try:
                if preparation is None:
                    self._refuse(path)
                proposal = await self._proposal(preparation, path, reason, focus, will_retry, signal)
                entry_id = self._store(proposal, preparation)
            except HarnessError as error:
                await self._failed(reason, error, from_extension=proposal is not None)
                if reason == "manual":
                    raise
                return None
            return await self._done(entry_id, reason, proposal, will_retry)
        finally:
            self.running = False

    def _refuse(self, path: Sequence[Entry]) -> NoReturn:
        if path and isinstance(path[-1], CompactionEntry):
            raise NothingToDo("Already compacted")
        raise NothingToDo("Nothing to compact (session too small)")

    async def _proposal(
        self,
        preparation: Preparation,
        path: Sequence[Entry],
        reason: CompactionReason,
        focus: str | None,
        will_retry: bool,
        signal: AbortSignal,
    ) -> CompactionProposal:
        """Return the summary to store: a hook's, or one that a model writes."""
        event = BeforeCompact(preparation, path, focus, reason, will_retry, signal)
        event = await self._harness.hooks.run(SESSION_BEFORE_COMPACT, event, signal)
        if event.cancel or signal.aborted:
            raise Cancelled("Compaction cancelled")
        if event.compaction is not None:
            return event.compaction
        try:
            summary = await self.summarizer(signal, "compaction", reason).compact(preparation, focus)
        except SummaryAborted:
            raise Cancelled("Compaction cancelled") from None
        except SummaryFailed as error:
            raise CompactionFailed(str(error)) from error
        return CompactionProposal(summary.text, details=summary.details, usage=summary.usage, from_hook=False)

    def _store(self, proposal: CompactionProposal, preparation: Preparation) -> str:
        return self._harness.session.append_compaction(
            proposal.summary,
            proposal.first_kept_entry_id or preparation.first_kept_entry_id,
            preparation.tokens_before if proposal.tokens_before is None else proposal.tokens_before,
            details=proposal.details,
            from_hook=proposal.from_hook,
            usage=proposal.usage,
        )

    async def _done(
        self, entry_id: str, reason: CompactionReason, proposal: CompactionProposal, will_retry: bool
    ) -> CompactionResult:
        harness = self._harness
        harness.rebuild_context()
        entry = harness.session.get_entry(entry_id)
        assert isinstance(entry, CompactionEntry)
        await harness.publish(SessionCompact(entry, proposal.from_hook, reason, will_retry))
        result = CompactionResult(
            entry.summary,
            entry.first_kept_entry_id or entry.id,
            entry.tokens_before,
            sum_of_tokens(project(self.path())),
            entry.usage,
            entry.details,
        )
        await harness.publish(CompactionEnd(reason, result, aborted=False, will_retry=will_retry))
        return result

    async def _failed(self, reason: CompactionReason, error: HarnessError, *, from_extension: bool) -> None:
        aborted = isinstance(error, Cancelled)
        text = None if aborted else _PREFIXES[reason] + str(error)
        await self._harness.publish(SessionCompactFailed(reason, text, aborted, False, from_extension))
        await self._harness.publish(CompactionEnd(reason, None, aborted, will_retry=False, error_message=text))

    async def gave_up(self) -> None:
        """Tell that a second overflow in a row is not recovered from."""
        await self._harness.publish(CompactionEnd("overflow", None, False, will_retry=False, error_message=GAVE_UP))

    # ---- asking

    def summarizer(
        self,
        signal: AbortSignal,
        source: Literal["compaction", "branchSummary"],
        reason: CompactionReason | None = None,
    ) -> Summarizer:
        """Return who writes summaries now; transient failures are retried by the policy of the harness."""
        harness = self._harness
        model = harness.compaction.summary_model() or harness.model

        async def ask(model: Model, context: Context, options: StreamOptions) -> AssistantMessage:
            attempts = 0
            while True:
                answer = await harness.ask(model, context, options)
                match next_try(harness.retry, answer, attempts, harness.asked_wait_ms):
                    case Retry(attempt=attempts, delay_ms=delay):
                        text = answer.error_message or ""
                        scheduled = SummarizationRetryScheduled(attempts, harness.retry.max_retries, delay, text)
                        await harness.publish(scheduled)
                        try:
                            await sleep(delay / 1000, signal)
                        except Aborted:
                            raise SummaryAborted("cancelled while waiting for another try") from None
                        await harness.publish(SummarizationRetryAttemptStart(source, reason))
                    case _:
                        if attempts:
                            await harness.publish(SummarizationRetryFinished())
                        return answer

        return Summarizer(ask, model, replace(harness.options, signal=signal), harness.thinking_level)
