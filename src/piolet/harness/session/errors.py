"""What can go wrong with a session.

SessionError
├── NotASession         the file has no session header; it was left alone
├── NewerVersion        the file is of a newer major version; it can be read, not written
├── InvalidSessionId    an id with characters that a file name must not have
├── UnknownSession      no session of a database has this id
├── UnknownEntry        no entry has this id
├── InvalidEntry        the entry cannot be stored: a wrong target, content of a wrong kind
├── NotSaved            the session has no file yet, and the operation needs one
├── WriteFailed         the disk refused; memory is as it was before
├── HistoryChanged      the file is not the one that was opened, and the branch in use is not in it
└── MissingCwd          the stored working directory is no longer there
"""

from __future__ import annotations


class SessionError(Exception):
    """Base of all errors of sessions. The text says what was wrong, where, and what to do."""


class NotASession(SessionError):
    pass


class NewerVersion(SessionError):
    pass


class InvalidSessionId(SessionError):
    pass


class UnknownSession(SessionError):
    pass


class UnknownEntry(SessionError):
    pass


class InvalidEntry(SessionError):
    pass


class NotSaved(SessionError):
    pass


class WriteFailed(SessionError):
    pass


class HistoryChanged(SessionError):
    pass


class MissingCwd(SessionError):
    pass
