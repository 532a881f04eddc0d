"""Which keys do what: the actions, their default keys, and a map that a user's choices were laid over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from piolet.tui.keys import Key, normalize

Platform: TypeAlias = Literal["linux", "darwin", "windows", "wsl"]

_TABLE = """
tui.editor. cursorUp=up cursorDown=down historyPrevious= historyNext= cursorLeft=left,ctrl+b cursorRight=right,ctrl+f
  cursorWordLeft=alt+left,ctrl+left,alt+b cursorWordRight=alt+right,ctrl+right,alt+f cursorLineStart=home,ctrl+a
  cursorLineEnd=end,ctrl+e jumpForward=ctrl+] jumpBackward=ctrl+alt+] pageUp=pageUp,ctrl+pageUp
  pageDown=pageDown,ctrl+pageDown deleteCharBackward=backspace deleteCharForward=delete,ctrl+d
  deleteWordBackward=ctrl+w,alt+backspace deleteWordForward=alt+d,alt+delete deleteToLineStart=ctrl+u
  deleteToLineEnd=ctrl+k yank=ctrl+y yankPop=alt+y undo=ctrl+-
tui.input. newLine=shift+enter,ctrl+j submit=enter tab=tab copy=ctrl+c
tui.select. up=up down=down pageUp=pageUp pageDown=pageDown confirm=enter cancel=escape,ctrl+c
tui.altScreen. pageUp=pageUp pageDown=pageDown halfPageUp= halfPageDown= lineUp= lineDown=
  previousPrompt=ctrl+shift+up,ctrl+up nextPrompt=ctrl+shift+down,ctrl+down search=ctrl+shift+f searchNext=enter,ctrl+g
  searchPrevious=shift+enter,ctrl+shift+g searchClose=escape top=ctrl+home bottom=ctrl+end
app. interrupt=escape clear=ctrl+c exit=ctrl+d suspend=ctrl+z thinking.cycle=shift+tab thinking.save=ctrl+s
  model.cycleForward=ctrl+p model.cycleBackward=shift+ctrl+p model.select=ctrl+l tools.expand=ctrl+o
  thinking.toggle=ctrl+t session.toggleNamedFilter=ctrl+n editor.external=ctrl+g message.copy=ctrl+x
  message.followUp=alt+enter message.dequeue=alt+up clipboard.pasteImage=ctrl+v session.new= session.tree=
  session.fork= session.resume= tree.foldOrUp=ctrl+left,alt+left tree.unfoldOrDown=ctrl+right,alt+right
  tree.editLabel=shift+l tree.toggleLabelTimestamp=shift+t session.togglePath=ctrl+p session.toggleSort=ctrl+s
  session.rename=ctrl+r session.delete=ctrl+d session.deleteNoninvasive=ctrl+backspace models.save=ctrl+s
  models.enableAll=ctrl+a models.clearAll=ctrl+x models.toggleProvider=ctrl+p models.reorderUp=alt+up
  models.reorderDown=alt+down tree.filter.default=ctrl+d tree.filter.noTools=ctrl+t tree.filter.userOnly=ctrl+u
  tree.filter.labeledOnly=ctrl+l tree.filter.all=ctrl+a tree.filter.cycleForward=ctrl+o
  tree.filter.cycleBackward=shift+ctrl+o
"""
_WINDOWS = {
    "app.model.cycleBackward": ("alt+p",),
    "app.message.followUp": ("ctrl+q",),
    "app.message.dequeue": ("alt+q",),
    "app.clipboard.pasteImage": ("alt+v", "ctrl+v"),
    "tui.altScreen.search": ("ctrl+f",),
}


def _parse(table: str) -> dict[str, tuple[str, ...]]:
    actions: dict[str, tuple[str, ...]] = {}
    group = ""
    for word in table.split():
        if "=" not in word:
            group = word
            continue
        name, _, keys = word.partition("=")
        actions[group + name] = tuple(keys.split(",")) if keys else ()
    return actions


#: Every action with its keys on Linux, in the order in which the file of key bindings is written.
DEFAULT_KEYS: Mapping[str, tuple[str, ...]] = _parse(_TABLE)


def default_keys(platform: Platform = "linux") -> dict[str, tuple[str, ...]]:
    """Return the default keys of every action on `platform` (resource formats, section 9)."""
    keys = dict(DEFAULT_KEYS)
    if platform in ("windows", "wsl"):
        keys |= _WINDOWS
    if platform == "windows":
        keys["app.suspend"] = ()
    if platform == "darwin":
        for action in ("app.tree.foldOrUp", "app.tree.unfoldOrDown"):
            keys[action] = tuple(reversed(keys[action]))
    return keys


class Keymap:
    """Answers which action a key means. Immutable; a key may serve several actions in different contexts."""

    def __init__(self, bindings: Mapping[str, Sequence[str]] | None = None) -> None:
        """`bindings`: the keys of every action; default: those of Linux."""
        chosen = DEFAULT_KEYS if bindings is None else bindings
        self._keys = {action: tuple(keys) for action, keys in chosen.items()}
        self._actions: dict[str, tuple[str, ...]] = {}
        for action, keys in self._keys.items():
            for key in keys:
                name = normalize(key)
                self._actions[name] = (*self._actions.get(name, ()), action)

    def keys(self, action: str) -> tuple[str, ...]:
        """Return the keys of `action` as they were given; none if it is unbound or unknown."""
        return self._keys.get(action, ())

    def label(self, action: str) -> str:
        """Return the first key of `action` for a hint, empty if it is unbound."""
        return self.keys(action)[0] if self.keys(action) else ""

    def matches(self, key: Key, action: str) -> bool:
        """Whether `key` means `action`; a release means nothing."""
        return key.kind != "release" and action in self._actions.get(key.name, ())

    def action(self, key: Key, context: Iterable[str]) -> str | None:
        """Return the action of `key` in a context: the first of the names in `context` (an action, or a group that
        ends in a dot) under which it is bound."""
        bound = () if key.kind == "release" else self._actions.get(key.name, ())
        if not bound:
            return None
        for wanted in context:
            for action in bound:
                if action == wanted or (wanted.endswith(".") and action.startswith(wanted)):
                    return action
        return None
