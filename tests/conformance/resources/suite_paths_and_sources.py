"""Session folders, user paths, package sources, values of configuration files."""

from __future__ import annotations

import os
from typing import Any

from piolet.app.packages.sources import LocalSource, NpmSource, parse_git, parse_source
from piolet.base.paths import resolve_path
from piolet.harness.session.naming import folder_name
from piolet.llm.credentials.config_value import ConfigValue
from tests.conformance.resources.world import expect
from tests.support.config_values import resolved


def session_dir(case: dict[str, Any], shared: dict[str, Any]) -> None:
    expect(case, lambda: folder_name(case["in"]["cwd"]))


def resolve(case: dict[str, Any], shared: dict[str, Any]) -> None:
    given = case["in"]
    options = given["options"]
    expect(
        case,
        lambda: resolve_path(
            given["path"],
            given["base"],
            home=given["home"],
            trim=options.get("trim", False),
            strip_at=options.get("stripAtPrefix", False),
        ),
    )


def git(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any] | None:
        source = parse_git(case["in"]["source"])
        if source is None:
            return None
        return {
            "repo": source.repo,
            "host": source.host,
            "path": source.path,
            "ref": source.ref,
            "pinned": source.pinned,
        }

    expect(case, found)


def source(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any]:
        value = parse_source(case["in"]["source"])
        result: dict[str, Any] = dict.fromkeys(["name", "version", "pinned", "path"])
        match value:
            case NpmSource():
                return result | {
                    "type": "npm",
                    "name": value.name,
                    "version": value.version,
                    "pinned": value.pinned,
                }
            case LocalSource():
                return result | {"type": "local", "path": value.path}
            case _:
                return result | {"type": "git", "pinned": value.pinned, "path": getattr(value, "path", None)}

    expect(case, found)


def config_value(case: dict[str, Any], shared: dict[str, Any]) -> None:
    def found() -> dict[str, Any]:
        text, env = case["in"]["value"], {"PATH": os.environ["PATH"], **case["in"]["env"]}
        value = ConfigValue(text)
        return {
            "value": resolved(text, env),
            "envNames": value.env_names,
            "command": value.command is not None,
        }

    expect(case, found)


OPS = {
    "session_dir": session_dir,
    "resolve_path": resolve,
    "parse_git": git,
    "package_source": source,
    "config_value": config_value,
}
