"""``SessionView``: the session as extensions may look at it. It changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from piolet.harness.session.context import SessionContext
from piolet.harness.session.entries import Entry, Header
from piolet.harness.session.session import Session
from piolet.harness.session.tree import TreeNode


class SessionView:
    """A session to read. Entries are immutable; lists are made anew at each call.

    `check` raises when it must not be used any more.
    """

    def __init__(self, session: Session, folder: str, check: Callable[[], None]) -> None:
        self._viewed = session
        self._folder = folder
        self._check = check

    @property
    def _session(self) -> Session:
        self._check()
        return self._viewed

    def get_cwd(self) -> str:
        """The working folder of the session on this machine."""
        return self._session.cwd

    def get_session_dir(self) -> str:
        """The folder that the session's file is in, or that sessions of its kind are kept in."""
        return os.path.dirname(self._session.path) if self._session.path else self._folder

    def get_session_id(self) -> str:
        return self._session.id

    def get_session_file(self) -> str | None:
        """The session's file, which may not exist yet; None for a session in memory."""
        return self._session.path

    def get_session_name(self) -> str | None:
        return self._session.name

    def get_leaf_id(self) -> str | None:
        """The entry that the next one is attached to; None before everything."""
        return self._session.leaf_id

    def get_leaf_entry(self) -> Entry | None:
        leaf = self._session.leaf_id
        return None if leaf is None else self._session.get_entry(leaf)

    def get_entry(self, entry_id: str) -> Entry | None:
        return self._session.get_entry(entry_id)

    def get_label(self, entry_id: str) -> str | None:
        label = self._session.labels.get(entry_id)
        return label.text if label else None

    def get_branch(self, from_id: str | None = None) -> Sequence[Entry]:
        """The entries from the root to `from_id`, by default to the leaf."""
        return self._session.path_to(... if from_id is None else from_id)

    def get_header(self) -> Header:
        return self._session.header

    def get_entries(self) -> Sequence[Entry]:
        """All entries of all branches, in the order in which they were written."""
        return self._session.entries

    def get_tree(self) -> Sequence[TreeNode]:
        """The roots of the whole tree."""
        return self._session.tree()

    def build_session_context(self) -> SessionContext:
        """What the model sees at the leaf: messages, model, thinking level."""
        return self._session.build_context()

    def build_context_entries(self) -> Sequence[Entry]:
        """The entries that the messages of the context come from."""
        return self._session.build_context().entries
