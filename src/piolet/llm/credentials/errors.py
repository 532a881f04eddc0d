"""What can go wrong with keys and logins. No message holds a secret.

CredentialError          base
├── AuthFileError        auth.json cannot be read, understood or locked
├── MissingCredentials   no key for a provider; says how to give one
├── UnknownProvider      there is no provider of that name; says which there are
├── UnresolvedValue      a configured key or header names a variable or command that gives nothing
├── NotLoggedIn          there is no stored login to renew
└── LoginError           a login or its renewal failed
"""

from __future__ import annotations

from collections.abc import Sequence

from piolet.llm.errors import LlmError


class CredentialError(LlmError):
    """Base of what goes wrong with credentials."""


class AuthFileError(CredentialError):
    """auth.json cannot be used."""


class MissingCredentials(CredentialError):
    """There is no key for a provider. `variables`: those that could hold one; `reason`: why what is there is none."""

    def __init__(self, provider: str, variables: tuple[str, ...] = (), reason: str = "") -> None:
        way = f"set {variables[0]}" if variables else 'give it an "apiKey" in models.json'
        what = reason or f"{way} or run `piolet auth login {provider}`."
        super().__init__(f'No API key found for "{provider}": {what}')


class UnknownProvider(CredentialError):
    """There is no provider of that name among those `known`."""

    def __init__(self, provider: str, known: Sequence[str]) -> None:
        from piolet.base.likeness import did_you_mean

        meant = did_you_mean(provider, known)
        super().__init__(f'Unknown provider "{provider}". Known ones: {", ".join(known)}.{meant}')


class UnresolvedValue(CredentialError):
    """A configuration value stands for nothing."""


class NotLoggedIn(CredentialError):
    """The provider has no stored login."""

    def __init__(self, provider: str) -> None:
        super().__init__(f'There is no login for "{provider}"; run `piolet auth login {provider}`.')


class LoginError(CredentialError):
    """A login, or the renewal of one, did not succeed."""
