"""From arguments to a mode: options, input, session, runtime (the command line specification, section 1)."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from piolet.app.options import ResourceSelection, RuntimeOptions, ToolSelection
from piolet.cli.args import Arguments
from piolet.modes.say import complain, say, warn

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from piolet.app.options import Fetching
    from piolet.app.prompt import UserPrompt
    from piolet.app.runtime import Runtime
    from piolet.app.trust import Ask
    from piolet.cli.prompt_input import InputFile
    from piolet.harness.session.places import SessionPlace

Screenless = Literal["print", "json", "rpc"]
Mode = Literal["interactive"] | Screenless

#: Faults of skills and templates that a mode without a screen tells of only with --verbose: the file is used.
_HARMLESS = frozenset(
    {
        "collision",
        "description-too-long",
        "name-too-long",
        "name-invalid-characters",
        "name-edge-hyphen",
        "name-double-hyphen",
    }
)


class StartError(Exception):
    """What keeps the program from starting; the text is for the user."""


def start(arguments: Arguments) -> int:
    """Run the mode that `arguments` ask for; return the exit code."""
    from piolet.app.extensions.flags import FlagError
    from piolet.app.model_choice import NoSuchModel
    from piolet.app.settings import SettingsError
    from piolet.app.trust import TrustError
    from piolet.cli.prompt_input import InputError
    from piolet.cli.session_choice import Refused
    from piolet.harness.environments.base import Unreachable
    from piolet.harness.environments.choice import InvalidChoice
    from piolet.harness.session.errors import SessionError, WriteFailed

    try:
        return _start(arguments)
    except Refused as refused:
        print("Aborted.", file=sys.stderr if refused.on_stderr else sys.stdout)
        return 0
    except FlagError as error:
        from piolet.cli.suggestions import unknown_options

        unknown = [f"--{name}" for name in error.unknown]
        complain(unknown_options(unknown, error.hint) if unknown else str(error))
        return 1
    except WriteFailed as error:
        complain(str(error) if arguments.export else f"{error}. With --no-session nothing is stored")
        return 1
    except (
        *(StartError, NoSuchModel, InputError, SessionError, SettingsError, TrustError),
        *(InvalidChoice, Unreachable),
    ) as error:
        complain(str(error))
        return 1


def _start(arguments: Arguments) -> int:
    mode = chosen_mode(arguments)
    _check(arguments, mode)
    from piolet.app.options import agent_dir
    from piolet.app.services import early_place
    from piolet.cli.session_choice import choose_session, chosen_on_screen

    options = runtime_options(arguments, mode, Path.cwd(), agent_dir(os.environ))
    if arguments.help:
        from piolet.cli.help import show_help

        return show_help(options)
    if arguments.list_models is not None:
        from piolet.cli.list_models import list_models

        return list_models(options, arguments.list_models)
    if arguments.export is not None:
        from piolet.cli.export import export

        return export(arguments.export, next(iter(arguments.messages), None), options)
    from piolet.cli.prompt_input import read_files

    files = read_files(arguments.files, options.cwd)
    place = early_place(options)
    from piolet.cli.ending import run_to_end

    if mode == "interactive":
        choose_in = place if chosen_on_screen(arguments) else None
        if choose_in is None:
            options = replace(options, session=choose_session(arguments, place))
        return run_to_end(_run_on_screen(options, choose_in, files, arguments))
    options = replace(options, session=choose_session(arguments, place))
    return run_to_end(_run(mode, options, files, arguments.messages))


def _check(arguments: Arguments, mode: Mode) -> None:
    if mode != "interactive" and os.environ.get("PI_STARTUP_BENCHMARK"):
        raise StartError("PI_STARTUP_BENCHMARK only supports interactive mode")


def chosen_mode(arguments: Arguments) -> Mode:
    """Return the mode by the options and by what standard input and output are."""
    if arguments.mode in ("rpc", "json"):
        return "rpc" if arguments.mode == "rpc" else "json"
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return "print" if arguments.print or not terminal else "interactive"


def runtime_options(arguments: Arguments, mode: Mode, cwd: Path, home: Path) -> RuntimeOptions:
    """Return `arguments` as the record that a Runtime takes; the session is chosen later."""
    environ = os.environ
    return RuntimeOptions(
        cwd=cwd,
        agent_dir=home,
        mode=mode,
        session_dir=arguments.session_dir or environ.get("PI_CODING_AGENT_SESSION_DIR") or None,
        session_name=arguments.name,
        provider=arguments.provider,
        model=arguments.model,
        models=arguments.models,
        api_key=arguments.api_key,
        thinking=arguments.thinking,  # type: ignore[arg-type]  # checked by the parser
        tools=ToolSelection(
            only=arguments.tools,
            exclude=arguments.exclude_tools or (),
            none=arguments.no_tools,
            builtin=not arguments.no_builtin_tools,
        ),
        system_prompt=arguments.system_prompt,
        append_system_prompt=arguments.append_system_prompt,
        extensions=ResourceSelection(arguments.extensions or (), not arguments.no_extensions),
        skills=ResourceSelection(arguments.skills or (), not arguments.no_skills),
        prompt_templates=ResourceSelection(arguments.prompt_templates or (), not arguments.no_prompt_templates),
        themes=ResourceSelection(arguments.themes or (), not arguments.no_themes),
        context_files=not arguments.no_context_files,
        environment=arguments.env,
        cache_retention="long" if environ.get("PI_CACHE_RETENTION") == "long" else None,
        flags=arguments.unknown_flags,
        trust=True if arguments.approve else False if arguments.no_approve else None,
        offline=environ.get("PI_OFFLINE") == "1",
        verbose=arguments.verbose,
    )


async def _run(mode: Screenless, options: RuntimeOptions, files: Sequence[InputFile], messages: Sequence[str]) -> int:
    import asyncio

    from piolet.app.runtime import Runtime
    from piolet.cli.crash import watch
    from piolet.cli.progress import Progress

    gc.freeze()  # what was imported stays: no collection need look at it
    watch(asyncio.get_running_loop(), verbose=options.verbose)
    runtime = await Runtime.create(replace(options, fetching=lambda source: Progress(f"Fetching {source}")))
    _tell(runtime)
    if runtime.session.model is None:
        await _name_local_servers(runtime, mode)
    gc.enable()
    if mode == "rpc":
        from piolet.modes.rpc.mode import run_rpc

        return await run_rpc(runtime)
    try:
        prompts = _prompts(runtime, files, messages)
    except BaseException:
        await runtime.dispose()
        raise
    if not prompts:
        say('There is no prompt, so nothing is sent: piolet -p "PROMPT", or pipe it in')
    if mode == "json":
        from piolet.modes.json import run_json

        return await run_json(runtime, prompts)
    from piolet.modes.print import run_print

    return await run_print(runtime, prompts)


async def _run_on_screen(
    options: RuntimeOptions,
    choose_in: SessionPlace | None,
    files: Sequence[InputFile],
    arguments: Arguments,
) -> int:
    """Run interactive mode; `choose_in`: the sessions from which one is chosen first."""
    import asyncio

    from piolet.app.options import OpenSession
    from piolet.app.runtime import Runtime
    from piolet.app.services import early_settings
    from piolet.cli.crash import last_crash, watch
    from piolet.modes.interactive.mode import run_interactive
    from piolet.modes.interactive.opening import Opening

    gc.freeze()  # what was imported stays: no collection need look at it
    watch(asyncio.get_running_loop(), verbose=options.verbose)

    def open_runtime(ask: Ask, fetching: Fetching, chosen: Path | None) -> Awaitable[Runtime]:
        session = options.session if chosen is None else OpenSession(chosen)
        return Runtime.create(replace(options, session=session, fetching=fetching), ask=ask)

    crash = last_crash(options.agent_dir)
    prompts = partial(_prompts, files=files, messages=arguments.messages)
    regular = (arguments.tui_mode or early_settings(options).tui_mode) == "regular"
    notices = [crash] if crash else []
    return await run_interactive(
        Opening(open_runtime, prompts, choose_in, notices, regular=regular, theme=arguments.use_theme)
    )


async def _name_local_servers(runtime: Runtime, mode: Screenless) -> None:
    """Tell which model servers of this machine could be used. Without a client that may yet choose, that is the end."""
    from piolet.app.local_models import how_to_use, unconfigured_servers

    servers = await unconfigured_servers(runtime.options, runtime.services.settings)
    if servers and mode == "rpc":
        warn(how_to_use(servers))
    elif servers:
        await runtime.dispose()
        raise StartError(how_to_use(servers))


def _prompts(runtime: Runtime, files: Sequence[InputFile], messages: Sequence[str]) -> list[UserPrompt]:
    from piolet.cli.prompt_input import initial_prompts, read_piped_stdin
    from piolet.harness.tools.options import ImageSettings

    images = ImageSettings(auto_resize=runtime.services.settings.image_auto_resize)
    return initial_prompts(read_piped_stdin(), files, runtime.flags.messages(list(messages)), images)


def _tell(runtime: Runtime) -> None:
    """Warn of what was found on the way."""
    services = runtime.services
    for notice in services.notices:
        warn(notice)
    for fault in services.resources.diagnostics:
        if services.options.verbose or fault.code not in _HARMLESS:
            warn(f"{fault.path}: {fault.message}")
    for problem in services.resources.found.problems:
        warn(problem)
