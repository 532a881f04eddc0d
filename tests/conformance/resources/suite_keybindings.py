"""The user's keys over the defaults, and the migration of old names."""

from __future__ import annotations

from typing import Any

from piolet.app.keybindings import lay_over, migrate_names
from piolet.tui.keymap import default_keys
from tests.conformance.outcome import equal
from tests.conformance.resources.world import expect


def keybindings(case: dict[str, Any], shared: dict[str, Any]) -> None:
    config = case["in"]["config"]
    defaults = default_keys()
    equal({action: _short(keys) for action, keys in defaults.items()}, shared["defaults"], "defaults")
    migrated = migrate_names(config)
    keys = lay_over(migrated).keys
    found = {
        "changed": {action: migrated[action] for action in keys if keys[action] != defaults[action]},
        "removed": [action for action in defaults if action not in keys],
        "migrated": migrated.keys() != config.keys(),
        "order": list(migrated),
    }
    for action in found["changed"]:
        equal(_short(keys[action]), _short(_tuple(migrated[action])), action)
    expect(case, lambda: found)


def _short(keys: tuple[str, ...]) -> Any:
    return keys[0] if len(keys) == 1 else list(keys)


def _tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


OPS = {"keybindings": keybindings}
