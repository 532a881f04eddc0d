"""Where the lines of a session live: the protocol, and the storage in memory. Storages know lines, never entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final, Literal, Protocol, TypeAlias

from piolet.base.json import loads

Text: TypeAlias = bytes | memoryview

#: The mark that some programs put before the first line. It belongs to no line.
BOM: Final = b"\xef\xbb\xbf"


#: A line of a session: where its storage has it, and its text without the line feed.
Line: TypeAlias = tuple[int, Text]


#: What became of the lines that were given. "replaced": others stand in their place, and the old ones can still be
#: read. "rewritten": they are gone. Either way `again` gives what is there now.
Change: TypeAlias = Literal["none", "replaced", "rewritten"]


class Storage(Protocol):
    """An append-only list of lines that other processes may append to as well. Failures are OSError."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def path(self) -> str | None:
        """The file, None if there never is one."""

    @property
    def place(self) -> str | None:
        """What tells it from all others on this machine; None if no other object can have these lines."""

    @property
    def lasting(self) -> bool:
        """Whether `begin` puts the lines where a session is opened again."""

    @property
    def saved(self) -> bool:
        """Whether they are there."""

    @property
    def torn(self) -> bool:
        """Whether a last line without end was seen and not given."""

    def lines(self, *, torn: bool = False) -> Iterator[Line]:
        """Give the lines that were not given yet, own ones too; with `torn` also a last one without end.

        A text may change once the next line is asked for.
        """

    def rewind(self) -> None:
        """Let `lines` begin again with the first one. OSError, and no change, if they cannot be read."""

    def read(self, positions: Iterable[int]) -> Iterator[Text]:
        """Give lines once more. A text may change once the next one is asked for."""

    def locked(self) -> AbstractContextManager[Change]:
        """Keep other writers out, and tell what happened to the lines given so far."""

    def again(self) -> Storage:
        """Return a storage of the lines that are now where these were. Nothing was given of it yet."""

    def beside(self, id: str, file_name: str, text: bytes) -> Storage:
        """Return the storage of another session in the same place, with lines that `begin` will keep there."""

    def write(self, data: bytes) -> None:
        """Store one line at the end, inside `locked`. A torn last line is ended first, and that alone if `data` is
        empty."""

    def begin(self) -> None:
        """Put the lines so far, and all later ones, where a session is opened again. May be called again."""

    def sync(self) -> None:
        """Wait until all is on the disk."""

    def close(self) -> None:
        """Give back what the operating system lent. The storage can still be used."""


class MemoryStorage:
    """Lines in memory only. `text` is what a file would hold."""

    path = None
    lasting = False

    def __init__(self, text: bytes | bytearray = b"") -> None:
        self.name = "in memory"
        self.place: str | None = None
        self.saved = False
        self.torn = False
        self.text = bytearray(text)
        self._given = 0  # behind the last line that was given

    def lines(self, *, torn: bool = False) -> Iterator[Line]:
        if self._given == 0 and self.text.startswith(BOM):
            self._given = len(BOM)
        while (end := self.text.find(b"\n", self._given)) >= 0:
            position, self._given = self._given, end + 1
            yield position, bytes(self.text[position:end])
        rest = len(self.text) > self._given
        self.torn = rest and not torn
        if rest and torn:
            position, self._given = self._given, len(self.text)
            yield position, bytes(self.text[position:])

    def rewind(self) -> None:
        self._given = 0

    def read(self, positions: Iterable[int]) -> Iterator[Text]:
        for position in positions:
            end = self.text.find(b"\n", position)
            yield bytes(self.text[position : end if end >= 0 else None])

    def locked(self) -> AbstractContextManager[Change]:
        return nullcontext("none")

    def again(self) -> Storage:
        return MemoryStorage(self.text)

    def beside(self, id: str, file_name: str, text: bytes) -> Storage:
        return MemoryStorage(text)

    def write(self, data: bytes) -> None:
        is_torn = len(self.text) > 0 and not self.text.endswith(b"\n")
        self.text += (b"\n" if is_torn else b"") + (data + b"\n" if data else b"")

    def content(self) -> bytes:
        """Return `text` as it is now."""
        return bytes(self.text)

    def begin(self) -> None:
        pass

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass


def parsed_lines(storage: Storage) -> Iterator[tuple[bytes, Any]]:
    """Give each line that is valid JSON, and its value, then close the storage. Other lines are passed over."""
    try:
        for _, line in storage.lines(torn=True):
            with suppress(ValueError):
                text = bytes(line)
                yield text, loads(text)
    finally:
        storage.close()
