"""Where credentials are kept: `AuthFile` is auth.json, shared with other processes; `MemoryCredentials` for embedders.

Source: resources, section 12.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from piolet.base.dirlock import LockError, dir_lock, wait_for_writer
from piolet.base.files import make_private_folder, write_private
from piolet.llm.credentials.errors import AuthFileError, NotLoggedIn
from piolet.llm.credentials.records import REFRESH_MARGIN_MS, Credential, OAuthCredential, credential_from_json

Renew: TypeAlias = Callable[[OAuthCredential], OAuthCredential]

#: Seconds: how long a refresh waits for that of another process, and after which a lock of one is stale.
REFRESH_TIMEOUT = 30.0
#: Seconds that a change by hand (login, logout) waits: a refresh of another process may be under way.
CHANGE_TIMEOUT = 20.0


_GONE = object()


class CredentialStore(Protocol):
    """Keeps one credential a provider. Everything here may block for a moment, `refresh` for many seconds."""

    def get(self, provider: str) -> Credential | None: ...

    def providers(self) -> list[str]: ...

    def set(self, provider: str, credential: Credential) -> None: ...

    def remove(self, provider: str) -> bool:
        """Forget the credential; return whether there was one."""

    def refresh(self, provider: str, renew: Renew, margin_ms: int = REFRESH_MARGIN_MS) -> OAuthCredential:
        """Return the login of `provider`, renewed if less than `margin_ms` is left, once whoever else asks."""


class MemoryCredentials:
    """Credentials that end with the process."""

    def __init__(self, credentials: Mapping[str, Credential] | None = None) -> None:
        self._credentials = dict(credentials or {})

    def get(self, provider: str) -> Credential | None:
        return self._credentials.get(provider)

    def providers(self) -> list[str]:
        return list(self._credentials)

    def set(self, provider: str, credential: Credential) -> None:
        self._credentials[provider] = credential

    def remove(self, provider: str) -> bool:
        return self._credentials.pop(provider, None) is not None

    def refresh(self, provider: str, renew: Renew, margin_ms: int = REFRESH_MARGIN_MS) -> OAuthCredential:
        current = _login(self.get(provider), provider)
        if current.expires_within(margin_ms):
            current = renew(current)
            self.set(provider, current)
        return current


class AuthFile:
    """auth.json. Read again whenever it changed; changed under its lock, by entry, with mode 0600.

    An entry that we cannot understand, say of a newer program, stays as it is and harms its own provider alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._entries: dict[str, Any] = {}

    def get(self, provider: str) -> Credential | None:
        """Return the stored credential; `AuthFileError` if the file or the entry cannot be understood."""
        entries = self._read()
        return self._record(provider, entries[provider]) if provider in entries else None

    def providers(self) -> list[str]:
        return list(self._read())

    def set(self, provider: str, credential: Credential) -> None:
        self._change({provider: credential.to_json()})

    def remove(self, provider: str) -> bool:
        there = provider in self._read()
        if there:
            self._change({provider: _GONE})
        return there

    def refresh(self, provider: str, renew: Renew, margin_ms: int = REFRESH_MARGIN_MS) -> OAuthCredential:
        """Under the lock read again, and renew only what nobody else has renewed meanwhile."""
        seen = current = _login(self.get(provider), provider)
        if not current.expires_within(margin_ms):
            return current
        try:
            with dir_lock(os.path.realpath(self.path), timeout=REFRESH_TIMEOUT, stale=REFRESH_TIMEOUT) as lock:
                current = _login(self.get(provider), provider)
                just_renewed = current != seen and not current.expires_within(0)
                if current.expires_within(margin_ms) and not just_renewed:
                    current = renew(current)
                    lock.check()
                    self._write({**self._read(locked=True), provider: current.to_json()})
        except LockError as error:
            raise AuthFileError(str(error)) from None
        except OSError as error:
            raise AuthFileError(f"{self.path} cannot be changed: {error.strerror}") from None
        return current

    def _change(self, changes: Mapping[str, Any]) -> None:
        """Replace entries; `_GONE` removes one."""
        real = Path(os.path.realpath(self.path))
        try:
            make_private_folder(real.parent)
            with dir_lock(real, timeout=CHANGE_TIMEOUT) as lock:
                entries = {**self._read(locked=True), **changes}
                lock.check()
                self._write({name: entry for name, entry in entries.items() if entry is not _GONE})
        except LockError as error:
            raise AuthFileError(str(error)) from None
        except OSError as error:
            raise AuthFileError(f"{self.path} cannot be changed: {error.strerror}") from None

    def _write(self, entries: Mapping[str, Any]) -> None:
        write_private(self.path, json.dumps(entries, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def _read(self, *, locked: bool = False) -> dict[str, Any]:
        try:
            stat = self.path.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if seen != self._seen:
                self._entries = self._load(locked=locked)
                self._seen = seen
        except FileNotFoundError:
            self._seen, self._entries = None, {}
        except OSError as error:
            raise AuthFileError(f"{self.path} cannot be read: {error.strerror}") from None
        return self._entries

    def _load(self, *, locked: bool) -> dict[str, Any]:
        data = self.path.read_bytes()
        try:
            if data or locked:
                return self._parse(data)
        except AuthFileError:
            if locked:
                raise
        wait_for_writer(os.path.realpath(self.path))
        return self._load(locked=True)

    def _parse(self, data: bytes) -> dict[str, Any]:
        try:
            entries = json.loads(data) if data.strip() else {}
        except (ValueError, RecursionError) as error:
            where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            raise AuthFileError(f"{self.path} is no valid JSON{where}: repair it, or move it away") from None
        if not isinstance(entries, dict):
            raise AuthFileError(f"{self.path} must be an object of providers: repair it, or move it away")
        return entries

    def _record(self, provider: str, entry: Any) -> Credential:
        try:
            return credential_from_json(entry)
        except ValueError as error:
            raise AuthFileError(f'{self.path}, entry "{provider}": {error}') from None


def _login(credential: Credential | None, provider: str) -> OAuthCredential:
    if not isinstance(credential, OAuthCredential):
        raise NotLoggedIn(provider)
    return credential
