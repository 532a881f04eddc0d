"""Operations that a harness refuses or that failed; nothing has changed then.

HarnessError
├── HarnessBusy          another operation is under way; the text names it
├── HarnessClosed        the harness was closed
├── NothingToDo          nothing to continue, nothing to compact
├── UnknownTarget        no such entry, model, tool, skill or template
├── Cancelled            stopped on request, by the user or by a hook
├── PromptFailed         a part of the system prompt raised; the text says why
└── CompactionFailed     no summary could be made; the text says why
"""

from __future__ import annotations


class HarnessError(Exception):
    """An operation that was not carried out."""


class HarnessBusy(HarnessError):
    """Another operation is under way."""


class HarnessClosed(HarnessError):
    """The harness was closed."""


class NothingToDo(HarnessError):
    """There is nothing to continue or to compact."""


class UnknownTarget(HarnessError):
    """What was named does not exist here."""


class Cancelled(HarnessError):
    """The operation was stopped on request."""


class PromptFailed(HarnessError):
    """The system prompt could not be built."""


class CompactionFailed(HarnessError):
    """No summary could be made."""
