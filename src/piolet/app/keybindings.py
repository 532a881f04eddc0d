"""The user's key bindings: ``keybindings.json`` of the agent folder, laid over the defaults.

Source of the rules: the resources specification, section 9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from piolet.app.json_files import indented, parse_object, read_text, reason, unusable, write_text
from piolet.base.dirlock import LockError, dir_lock
from piolet.tui.keymap import DEFAULT_KEYS, Platform, default_keys
from piolet.tui.keys import valid

# Names of version 0.50 and before, and the group that they moved to; the renamed ones are written out.
_OLD_GROUPS = {
    "tui.editor": """
        cursorUp cursorDown cursorLeft cursorRight cursorWordLeft cursorWordRight cursorLineStart cursorLineEnd
        jumpForward jumpBackward pageUp pageDown deleteCharBackward deleteCharForward deleteWordBackward
        deleteWordForward deleteToLineStart deleteToLineEnd yank yankPop undo
    """,
    "tui.input": "newLine submit tab copy",
    "tui.select": """
        selectUp=up selectDown=down selectPageUp=pageUp selectPageDown=pageDown selectConfirm=confirm
        selectCancel=cancel
    """,
    "app": """
        interrupt clear exit suspend cycleThinkingLevel=thinking.cycle cycleModelForward=model.cycleForward
        cycleModelBackward=model.cycleBackward selectModel=model.select expandTools=tools.expand
        toggleThinking=thinking.toggle externalEditor=editor.external followUp=message.followUp
        dequeue=message.dequeue pasteImage=clipboard.pasteImage newSession=session.new tree=session.tree
        fork=session.fork resume=session.resume toggleSessionNamedFilter=session.toggleNamedFilter
        toggleSessionPath=session.togglePath toggleSessionSort=session.toggleSort renameSession=session.rename
        deleteSession=session.delete deleteSessionNoninvasive=session.deleteNoninvasive treeFoldOrUp=tree.foldOrUp
        treeUnfoldOrDown=tree.unfoldOrDown treeEditLabel=tree.editLabel
        treeToggleLabelTimestamp=tree.toggleLabelTimestamp
    """,
}


def _old_names() -> dict[str, str]:
    names = {}
    for group, words in _OLD_GROUPS.items():
        for word in words.split():
            old, _, new = word.partition("=")
            names[old] = f"{group}.{new or old}"
    return names


OLD_NAMES: Mapping[str, str] = _old_names()


class Keybindings(Struct, frozen=True):
    """`keys`: the keys of every action. `notices`: what in the file was not used, and why."""

    keys: Mapping[str, tuple[str, ...]]
    notices: list[str] = field(default_factory=list)


def this_platform(environ: Mapping[str, str] = os.environ) -> Platform:
    """Return the platform whose defaults count here: terminals of Windows keep some keys for themselves."""
    if environ.get("WSL_DISTRO_NAME"):
        return "wsl"
    return "darwin" if sys.platform == "darwin" else "linux"


def load_keybindings(agent_dir: Path, platform: Platform = "linux") -> Keybindings:
    """Return the user's bindings over the defaults of `platform`. A file with old names is written anew."""
    path = agent_dir / "keybindings.json"
    try:
        text = read_text(path)
        config = parse_object(text) if text else {}
    except (OSError, ValueError) as error:
        return Keybindings(default_keys(platform), [unusable(path, error)])
    migrated = migrate_names(config)
    bindings = lay_over(migrated, platform)
    if migrated.keys() != config.keys():
        try:
            with dir_lock(path):
                write_text(path, indented(migrated) + "\n", private=True)
        except (OSError, LockError) as error:
            bindings.notices.append(f"{path} still has old names and was not written: {reason(error)}")
    return bindings


def migrate_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return `config` with old names replaced (a new one that is there wins), in order of the actions, then sorted."""
    named: dict[str, Any] = {}
    for name, value in config.items():
        new = OLD_NAMES.get(name, name)
        if new == name or new not in config:
            named[new] = value
    places = {action: place for place, action in enumerate(DEFAULT_KEYS)}
    return {name: named[name] for name in sorted(named, key=lambda name: (places.get(name, len(places)), name))}


def lay_over(config: Mapping[str, Any], platform: Platform = "linux") -> Keybindings:
    """Return the bindings that `config` makes of the defaults: a value replaces those of its action, [] unbinds it."""
    keys = default_keys(platform)
    notices = []
    for action, value in config.items():
        listed = [value] if isinstance(value, str) else value
        if action == "$schema":
            continue
        if action not in keys:
            notices.append(f"keybindings.json: there is no action {action!r}")
        elif not isinstance(listed, list) or not all(isinstance(key, str) and valid(key) for key in listed):
            notices.append(f"keybindings.json: {action} has {value!r}; use keys such as ctrl+shift+x, in lower case")
        else:
            keys[action] = tuple(dict.fromkeys(listed))
    return Keybindings(keys, notices)
