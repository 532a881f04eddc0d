"""A sequence whose items are made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T", covariant=True)


class MadeLater(Sequence[T]):
    """A sequence of `count` items, none of which may be None. They are kept once they are made.

    `make` gives the items of some places, in that order; it is asked for as many at once as are read at once.
    """

    def __init__(self, count: int, make: Callable[[Sequence[int]], Sequence[T]]) -> None:
        self._items: list[T | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, where: int) -> T: ...
    @overload
    def __getitem__(self, where: slice) -> list[T]: ...
    def __getitem__(self, where: int | slice) -> T | list[T]:
        if isinstance(where, slice):
            return self.at(range(len(self._items))[where])
        return self.at([range(len(self._items))[where]])[0]

    def __iter__(self) -> Iterator[T]:
        return iter(self[:])

    def at(self, places: Iterable[int]) -> list[T]:
        """Return the items of some places, which count from 0."""
        places = list(places)
        missing = [place for place in places if self._items[place] is None]
        if missing:
            for place, made in zip(missing, self._make(missing), strict=True):
                self._items[place] = made
        return [item for place in places if (item := self._items[place]) is not None]

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, MadeLater) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:])
