"""What goes wrong with extensions.

ExtensionFault
├── EndRefused          an extension tried to end the program
├── StaleContextError   an object of an extension whose session was replaced or reloaded
│   └── QuestionEnded   ... while the extension waited for the user; nobody needs to be told
├── LoadFailed          a module that cannot be loaded; the text says why
└── CompletionFailed    a model gave no answer to an extension's own request
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ExtensionFault(Exception):
    """Base of the errors of this package."""


class EndRefused(ExtensionFault):
    pass


class StaleContextError(ExtensionFault):
    pass


class QuestionEnded(StaleContextError):
    pass


class LoadFailed(ExtensionFault):
    pass


class CompletionFailed(ExtensionFault):
    pass


@contextmanager
def no_exit() -> Iterator[None]:
    """Turn ``sys.exit()`` within the block, which would tear down everything, into `EndRefused`."""
    try:
        yield
    except SystemExit:
        raise EndRefused("it tried to end the program; ctx.shutdown() ends it in order") from None
