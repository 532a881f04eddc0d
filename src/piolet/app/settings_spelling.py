"""Keys of a settings file that are meant for piolet and written so that nothing would read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from piolet.app.settings import Key, Settings

_PLACE: Final = Settings.environment.path
_PATHS: Final = [key.path for key in vars(Settings).values() if isinstance(key, Key) and "." in key.path]
_OURS: Final = {path for path in _PATHS if path.startswith("piolet.")} | {"piolet.lastChangelogVersion"}
_NAMES: Final = {path.removeprefix("piolet.").casefold() for path in _OURS}
_GROUPS: Final = {path.partition(".")[0].casefold() for path in _PATHS} | {"compaction", "branchsummary", "retry"}


class Misspelled(Struct, frozen=True):
    """A key as it is `written`, and the dotted path of the setting that it seems to be; None if that is unclear."""

    written: str
    meant: str | None

    @property
    def may_choose_place(self) -> bool:
        """Whether it seems to say where tools act."""
        return self.meant == _PLACE

    def __str__(self) -> str:
        if self.written == "piolet":
            return f"piolet must be an object, such as {_nested(_PLACE)}"
        said = f"{json.dumps(self.written, ensure_ascii=False)} is no setting"
        return f"{said}; did you mean {_nested(self.meant)}?" if self.meant else f"{said} and counts for nothing"


def misspelled(values: Mapping[str, Any]) -> Iterator[Misspelled]:
    """Yield what counts for nothing: in ``piolet``, of settings that stand there, in dotted notation, in other case."""
    for name, value in values.items():
        if name == "piolet" or (isinstance(value, dict) and _seems_ours(name)):
            inside = value.items() if isinstance(value, dict) else ()
            yield from (_misspelled(f"{name}.{key}", key, item) for key, item in inside if f"{name}.{key}" not in _OURS)
            if not isinstance(value, dict):
                yield Misspelled(name, _PLACE)
        elif name.casefold() == "piolet" or name.casefold() in _NAMES:
            yield _misspelled(name, name, value)
        elif "." in name:
            group, _, key = name.partition(".")
            if _seems_ours(group):
                yield _misspelled(name, key, value)
            elif group.casefold() in _GROUPS:
                yield Misspelled(name, _closest(name) or name)


def _misspelled(written: str, key: str, value: Any) -> Misspelled:
    """`key`: what stands for the name within ``piolet``. In doubt it says where tools act."""
    place = isinstance(value, str) and value.casefold().startswith(("sandbox", "docker:", "container:", "ssh:"))
    place = place or key.casefold().startswith(("env", "sandbox", "piolet"))
    return Misspelled(written, _PLACE if place else _closest(f"piolet.{key}"))


def _seems_ours(name: str) -> bool:
    """Whether a name is ``piolet`` but for a letter or their order; ``pilot`` is a word of its own."""
    folded = name.casefold()
    return len(name) in (5, 6, 7) and len(set(folded) & set("piolet")) >= 5 and folded != "pilot"


def _closest(path: str) -> str | None:
    import difflib

    paths = {known.casefold(): known for known in _PATHS}
    found = difflib.get_close_matches(path.casefold(), paths, n=1, cutoff=0.8)
    return paths[found[0]] if found else None


def _nested(path: str) -> str:
    names = path.split(".")
    return "".join(f'{{"{name}": ' for name in names) + "..." + "}" * len(names)
