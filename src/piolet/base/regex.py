"""Regular expressions that are compiled when they are first used: start-up does not pay for those of a rare case."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Later:
    """Stands for a pattern until a method of it is asked for."""

    def __init__(self, *source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value


def compiled_later(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what ``re.compile`` gives; a faulty pattern raises ``re.error`` at its first use."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
