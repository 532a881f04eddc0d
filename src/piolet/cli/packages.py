"""``piolet install|remove|update|list|config``: packages of extensions, skills, prompt templates and themes."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from piolet.app.options import RuntimeOptions, agent_dir
from piolet.app.packages.manager import Installed, PackageManager
from piolet.app.packages.sources import PackageError, needs_network
from piolet.app.resources.resolve import Places, Resource
from piolet.app.services import project_trust
from piolet.app.settings import SettingsError
from piolet.app.settings_files import Scope, SettingsFiles
from piolet.base.urls import without_credentials
from piolet.cli.command_parser import CommandParser
from piolet.cli.progress import Progress
from piolet.modes.say import complain, one_line, warn

_SELF = ("self", "pi", "piolet")


def main(argv: Sequence[str]) -> int:
    """Run one of the commands, which is the first word; return the exit code."""
    arguments = _parser(argv[0]).parse_args([word for word in argv[1:] if word != "--offline"])
    try:
        return int(_COMMANDS[argv[0]][0](arguments))
    except (PackageError, SettingsError) as error:
        complain(str(error))
        return 1


def _parser(command: str) -> CommandParser:
    _, help, source = _COMMANDS[command]
    parser = CommandParser(prog=f"piolet {command}", description=help)
    if source:
        parser.add_argument(
            "source",
            nargs=None if source == "required" else "?",
            help="pypi:NAME, git:HOST/PATH[@REF], a URL or a path",
        )
    parser.add_argument("-l", "--local", action="store_true", help="the project's packages instead of the user's")
    parser.add_argument("-a", "--approve", action="store_true", help="trust the files of the project for this run")
    parser.add_argument("-na", "--no-approve", action="store_true", help="do not trust the files of the project")
    if command == "update":
        parser.add_argument("--self", action="store_true", dest="itself", help="piolet itself")
        parser.add_argument("--extensions", action="store_true", help="all packages")
        parser.add_argument("--extension", metavar="SOURCE", help="one package")
        parser.add_argument("--models", action="store_true", help="the lists of models that providers publish")
        parser.add_argument("--all", action="store_true", help="everything")
        parser.add_argument("--force", action="store_true", help="accepted for compatibility: updates always fetch")
    if command == "config":
        parser.add_argument("--on", metavar="PATH", action="append", default=[], help="switch a resource on")
        parser.add_argument("--off", metavar="PATH", action="append", default=[], help="switch a resource off")
    return parser


def _manager(arguments: Namespace, scope: Scope | None = None) -> PackageManager:
    cwd, home = Path.cwd(), Path.home()
    trust = True if arguments.approve else False if arguments.no_approve else None
    options = RuntimeOptions(cwd, agent_dir(os.environ), trust=trust)
    trusted = bool(trust) or (trust is None and project_trust(options).already_trusted(cwd))
    scope = scope or ("project" if arguments.local else "user")
    if scope == "project" and not trusted:
        raise PackageError(
            "This project is not trusted: say so with -a, or answer the question of the interactive mode"
        )
    files = SettingsFiles(options.agent_dir, cwd, project_trusted=trusted)
    for problem in files.problems:
        if problem.scope == scope:
            warn(problem.message)
    return PackageManager(files, Places(cwd, options.agent_dir, home), scope)


def _managers(arguments: Namespace) -> list[PackageManager]:
    """Both scopes, or the one that was asked for. Without trust nothing of the project is read."""
    if arguments.local:
        return [_manager(arguments)]
    managers = [_manager(arguments)]
    try:
        managers.append(_manager(arguments, "project"))
    except PackageError:
        if not arguments.no_approve and Path(".pi", "settings.json").exists():
            warn("Packages of this project are left out: it is not trusted. With -a it is, for this command")
    return managers


def _shown(text: str) -> str:
    return one_line(without_credentials(text))


def _install(arguments: Namespace) -> int:
    if needs_network(arguments.source):
        _refuse_offline("install")
    manager = _manager(arguments)
    with Progress(_shown(f"Installing {arguments.source}")):
        installed = manager.install(arguments.source)
    print(_shown(f"Installed {installed.source} ({installed.path})"))
    if installed.problem:
        warn(_shown(f"Not all of it can be used: {installed.problem}"))
    return 0


def _remove(arguments: Namespace) -> int:
    _manager(arguments).remove(arguments.source)
    print(_shown(f"Removed {arguments.source}"))
    return 0


def _list(arguments: Namespace) -> int:
    packages = [package for manager in _managers(arguments) for package in manager.packages()]
    for package in packages:
        notes = [package.scope] + ["pinned"] * package.pinned + ["missing"] * (not package.present)
        print(_shown(f"{package.source}  ({', '.join(notes)})  {package.path or package.problem}"))
    if not packages:
        print("No packages are installed")
    return 0


def _update(arguments: Namespace) -> int:
    _refuse_offline("update")
    named = arguments.extension or arguments.source
    itself = (
        arguments.itself or arguments.all or named in _SELF or not (named or arguments.extensions or arguments.models)
    )
    if arguments.extensions or arguments.all or (named and named not in _SELF):
        _update_packages(arguments, None if named in (None, *_SELF) else named)
    failed = 0
    if arguments.models or arguments.all:
        failed = _update_models()
    return _update_itself(arguments) or failed if itself else failed


def _update_packages(arguments: Namespace, named: str | None) -> None:
    managers = _managers(arguments)
    if named is not None:
        managers = [manager for manager in managers if manager.has(named)]
        if not managers:
            raise PackageError(f"{named} is not installed; `piolet list` shows what is")
    renewed: list[Installed] = []
    problems = []
    for manager in managers:
        try:
            with Progress(_shown(f"Updating {named or 'packages'}")):
                for package in manager.update(named):
                    renewed.append(package)
        except PackageError as error:
            problems.append(str(error))
    for package in renewed:
        print(_shown(f"Updated {package.source}"))
    if problems:
        raise PackageError("\n".join(problems))
    if not renewed:
        print("No package needed an update (pinned and local ones stay as they are)")


def _update_models() -> int:
    import asyncio

    from piolet.llm.catalog.refresh import refresh_models
    from piolet.llm.errors import LlmError
    from piolet.llm.models import Models

    folder = agent_dir(os.environ)
    settings = SettingsFiles(folder, Path.cwd(), project_trusted=False).settings
    models = Models.open(folder, proxy=settings.http_proxy)

    async def refresh() -> Mapping[str, int | LlmError]:
        try:
            return await refresh_models(models, catalog_url=settings.catalog_url)
        finally:
            await models.aclose()

    with Progress("Updating the lists of models"):
        results = asyncio.run(refresh())
    for name, result in results.items():
        if isinstance(result, LlmError):
            complain(_shown(f"{name}: {result}"))
        else:
            print(f"{one_line(name)}: {result} model{'s' * (result != 1)}")
    if not results:
        print("No provider with credentials lists its models")
    return 1 if any(isinstance(result, LlmError) for result in results.values()) else 0


def _update_itself(arguments: Namespace) -> int:
    cwd = Path.cwd()
    settings = SettingsFiles(agent_dir(os.environ), cwd, project_trusted=False).settings
    if settings.self_update_command:
        return subprocess.run(list(settings.self_update_command)).returncode
    print(
        "piolet is updated by what installed it: pipx upgrade piolet, uv tool upgrade piolet, or pip install -U piolet"
    )
    return 0


def _config(arguments: Namespace) -> int:
    manager = _manager(arguments)
    resources = manager.resources()
    for paths, on in ((arguments.on, True), (arguments.off, False)):
        for path in paths:
            wanted = [one for one in resources if one.path == os.path.abspath(path) or one.path.endswith(f"/{path}")]
            if len(wanted) != 1:
                raise PackageError(f"{path} names {len(wanted)} resources; `piolet config` lists their paths")
            manager.switch(wanted[0], on=on)
    if not resources:
        print("There are no resources to switch")
    elif arguments.on or arguments.off or not (sys.stdin.isatty() and sys.stdout.isatty()):
        for one in manager.resources():
            print(_row(one))
    else:
        _choose(manager)
    return 0


def _choose(manager: PackageManager) -> None:
    """Let somebody at a terminal switch one resource after the other."""
    while True:
        resources = manager.resources()
        for number, one in enumerate(resources, 1):
            print(f"{number:>3} {_row(one)}")
        try:
            answer = input("Number to switch, or Enter to end: ").strip()
        except (EOFError, KeyboardInterrupt):
            answer = ""
            print()
        if not answer:
            return
        if answer.isdecimal() and 1 <= int(answer) <= len(resources):
            chosen = resources[int(answer) - 1]
            manager.switch(chosen, on=not chosen.enabled)
        else:
            print(f"{one_line(answer)} is no number of this list")


def _row(one: Resource) -> str:
    return f"[{'x' if one.enabled else ' '}] {one.kind:<10}  {one_line(one.path)}  ({_shown(one.source)})"


def _refuse_offline(command: str) -> None:
    if os.environ.get("PI_OFFLINE") == "1":
        raise PackageError(f"piolet {command} needs the network, and piolet is offline (--offline or PI_OFFLINE)")


_COMMANDS = {
    "install": (_install, "Fetch a package and use it from now on.", "required"),
    "remove": (_remove, "Use a package no longer, and delete what was fetched.", "required"),
    "uninstall": (_remove, "Use a package no longer, and delete what was fetched.", "required"),
    "update": (_update, "Fetch packages anew, or say how piolet itself is updated.", "optional"),
    "list": (_list, "List the installed packages.", ""),
    "config": (_config, "List the resources and switch single ones on or off.", ""),
}
