"""Operations that a harness refuses.

HarnessError
├── HarnessBusy          another operation is under way; the text names it
├── HarnessClosed        the harness was closed
├── NothingToDo          nothing to continue, nothing to compact
└── UnknownTarget        no such entry, model, tool, skill or template
"""

from __future__ import annotations


class HarnessError(Exception):
    """An operation that was refused; nothing has changed."""


class HarnessBusy(HarnessError):
    """Another operation is under way."""


class HarnessClosed(HarnessError):
    """The harness was closed."""


class NothingToDo(HarnessError):
    """There is nothing to continue or to compact."""


class UnknownTarget(HarnessError):
    """What was named does not exist here."""
