"""What goes wrong with extensions.

ExtensionFault
├── StaleContextError   an object of an extension whose session was replaced or reloaded
├── LoadFailed          a module that cannot be loaded; the text says why
└── CompletionFailed    a model gave no answer to an extension's own request
"""

from __future__ import annotations


class ExtensionFault(Exception):
    """Base of the errors of this package."""


class StaleContextError(ExtensionFault):
    pass


class LoadFailed(ExtensionFault):
    pass


class CompletionFailed(ExtensionFault):
    pass
