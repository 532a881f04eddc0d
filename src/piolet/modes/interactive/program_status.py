"""What the program does, as the terminal is told: at work, blocked by a question, done, failed, idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from piolet.agent.events import AgentStart, MessageEnd
from piolet.harness.events import AgentSettled, CompactionEnd, CompactionStart, HarnessEvent
from piolet.llm.messages import AssistantMessage
from piolet.tui.program_status import BlockedKind, State, is_status_reply, status_report

_IDLE: tuple[State, str] = ("idle", "")
_WORKING: tuple[State, str] = ("working", "")


class ProgramStatus:
    """Follows the events of the session. `report` is called with each sequence that differs from the one before, as
    soon as the terminal has said that it wants to know."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._told = ""
        self._state = _IDLE
        self._running = False
        self._failure = ""  # of the last answer
        self._questions: list[tuple[BlockedKind, str]] = []
        self._wanted = False  # by the terminal

    def hear(self, reply: str) -> None:
        """Take in what the terminal says."""
        if is_status_reply(reply):
            self._wanted = True
            self._tell()

    def forget(self) -> None:
        """The session is another one, in which nothing was done yet."""
        self._state = _IDLE
        self._tell()

    def on_event(self, event: HarnessEvent) -> None:
        """Take in what happened."""
        match event:
            case AgentStart():
                self._running, self._failure, self._state = True, "", _WORKING
            case MessageEnd(message=AssistantMessage() as answer):
                self._failure = (answer.error_message or "failed") if answer.stop_reason == "error" else ""
            case AgentSettled(aborted=aborted):
                self._running, self._state = False, _ended(self._failure, aborted)
            case CompactionStart():
                self._state = ("working", "Compacting context")
            case CompactionEnd(aborted=aborted, error_message=failure):
                self._state = _WORKING if self._running else _ended(failure, aborted)
            case _:
                return
        self._tell()

    @contextmanager
    def blocked(self, kind: BlockedKind, question: str) -> Iterator[None]:
        """Somebody is asked meanwhile."""
        asked = kind, question
        self._questions.append(asked)
        self._tell()
        try:
            yield
        finally:
            self._questions.remove(asked)
            self._tell()

    def _tell(self) -> None:
        if not self._wanted:
            return
        if self._questions:
            kind, question = self._questions[-1]
            report = status_report("blocked", question, kind)
        else:
            report = status_report(*self._state)
        if report != self._told:
            self._told = report
            self._report(report)


def _ended(failure: str | None, aborted: bool) -> tuple[State, str]:
    if aborted:
        return _IDLE
    return ("error", failure) if failure else ("done", "")
