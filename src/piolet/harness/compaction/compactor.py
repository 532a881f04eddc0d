"""``Compactor``: makes one compaction from start to end: plan, ask the hooks, summarize, store, tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from piolet.agent.guard import guarded, reason_of
from piolet.base.abort import Aborted, AbortSignal, sleep
from piolet.harness.compaction.estimate import sum_of_tokens
from piolet.harness.compaction.hook_points import SESSION_BEFORE_COMPACT, BeforeCompact, CompactionProposal
from piolet.harness.compaction.settings import CompactionSettings, should_compact
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
from piolet.harness.session.errors import SessionError
from piolet.llm.messages import AssistantMessage
from piolet.llm.model import Context, Model, StreamOptions

if TYPE_CHECKING:
    from piolet.harness.compaction.prepare import Preparation
    from piolet.harness.compaction.summarize import Summarizer
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
        """Return the settings for the model. What is kept leaves room below the threshold: otherwise one compaction
        would call for the next."""
        window = self._harness.model.context_window
        settings = self._harness.compaction.settings(self._harness.model)
        if not window:
            return settings
        room = window - settings.reserve_tokens if window > settings.reserve_tokens else window // 2
        return replace(settings, keep_recent_tokens=min(settings.keep_recent_tokens, room // 2))

    def is_due(self) -> bool:
        """Whether the context that the last answer ended is too full (the specification, section 1)."""
        tokens = self._harness.context.tokens_at_last_answer()
        return tokens is not None and self._is_too_much(tokens)

    def is_due_between_turns(self) -> bool:
        """Whether the next request of a run would find the context too full."""
        return self._is_too_much(self._harness.context.estimate().tokens)

    def _is_too_much(self, tokens: int) -> bool:
        window = self._harness.model.context_window
        return window > 0 and should_compact(tokens, window, self.settings())

    def _recent_path(self) -> list[Entry]:
        """Return the active branch from what the last compaction kept: nothing older matters any more."""
        session = self._harness.session
        heads = session.path_heads()
        last = next((i for i in range(len(heads) - 1, -1, -1) if heads[i].type == "compaction"), None)
        if last is not None:
            heads = heads[next((i for i in range(last, -1, -1) if heads[i].id == heads[last].link), last) :]
        return session.entries_of(heads)

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

        A manual one raises `NothingToDo`, `Cancelled`, `CompactionFailed`. Raises `SessionError` if the session could
        not take it. Nothing is stored unless it succeeds.
        """
        from piolet.harness.compaction.prepare import prepare

        path = self._recent_path()
        preparation = prepare(path, self.settings())
        if preparation is None and reason != "manual":
            return None
        self.running = True
        proposal: CompactionProposal | None = None
        try:
            try:
                await self._harness.publish(CompactionStart(reason))
                if preparation is None:
                    self._refuse(path)
                proposal = await self._proposal(preparation, reason, focus, will_retry, signal)
                entry_id = self._store(proposal, preparation)
            except (HarnessError, SessionError) as error:
                await self._failed(reason, error, proposal)
                if reason == "manual" or isinstance(error, SessionError):
                    raise
                return None
            except asyncio.CancelledError:
                await self._failed(reason, Cancelled("Compaction cancelled"), proposal)
                raise
            return await self._done(entry_id, reason, proposal, will_retry)
        finally:
            self.running = False

    def check(self) -> None:
        """Raise `NothingToDo` if there is nothing to compact as things are."""
        from piolet.harness.compaction.prepare import prepare

        path = self._recent_path()
        if prepare(path, self.settings()) is None:
            self._refuse(path)

    def _refuse(self, path: Sequence[Entry]) -> NoReturn:
        if path and isinstance(path[-1], CompactionEntry):
            raise NothingToDo("Already compacted")
        raise NothingToDo("Nothing to compact (session too small)")

    async def _proposal(
        self,
        preparation: Preparation,
        reason: CompactionReason,
        focus: str | None,
        will_retry: bool,
        signal: AbortSignal,
    ) -> CompactionProposal:
        """Return the summary to store: a hook's, or one that a model writes."""
        from piolet.harness.compaction.summarize import SummaryAborted, SummaryFailed

        harness = self._harness
        if harness.hooks.wanted(SESSION_BEFORE_COMPACT):
            event = BeforeCompact(preparation, harness.session.path_to(), focus, reason, will_retry, signal)
            event = await harness.hooks.run(SESSION_BEFORE_COMPACT, event, signal)
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
        harness.context.rebuild()
        entry = harness.session.get_entry(entry_id)
        assert isinstance(entry, CompactionEntry)
        await harness.publish(SessionCompact(entry, proposal.from_hook, reason, will_retry))
        result = CompactionResult(
            entry.summary,
            entry.first_kept_entry_id or entry.id,
            entry.tokens_before,
            sum_of_tokens(harness.agent.messages),
            entry.usage,
            entry.details,
        )
        await harness.publish(CompactionEnd(reason, result, aborted=False, will_retry=will_retry))
        return result

    async def _failed(self, reason: CompactionReason, error: Exception, proposal: CompactionProposal | None) -> None:
        aborted = isinstance(error, Cancelled)
        text = None if aborted else _PREFIXES[reason] + str(error)
        by_hook = proposal is not None and proposal.from_hook
        await self._harness.publish(
            SessionCompactFailed(reason, text, aborted, will_retry=False, from_extension=by_hook)
        )
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
        from piolet.harness.compaction.summarize import Summarizer, SummaryAborted, SummaryFailed

        harness = self._harness

        async def ask(model: Model, context: Context, options: StreamOptions) -> AssistantMessage:
            attempts = 0
            try:
                while True:
                    answer = await guarded(harness.ask(model, context, options), signal)
                    match next_try(harness.retry, answer, attempts, harness.asked_wait_ms):
                        case Retry(attempt=attempts, delay_ms=delay):
                            text = answer.error_message or ""
                            await harness.publish(
                                SummarizationRetryScheduled(attempts, harness.retry.max_retries, delay, text)
                            )
                            await sleep(delay / 1000, signal)
                            await harness.publish(SummarizationRetryAttemptStart(source, reason))
                        case _:
                            return answer
            except Aborted:
                raise SummaryAborted("Stopped on request") from None
            except Exception as error:
                raise SummaryFailed(reason_of(error)) from error
            finally:
                if attempts:
                    await harness.publish(SummarizationRetryFinished())

        model = harness.compaction.summary_model() or harness.model
        return Summarizer(ask, model, replace(harness.options, signal=signal), harness.thinking_level)
