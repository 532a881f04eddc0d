"""From parsed arguments to a running mode."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from piolet.app.options import ResourceSelection, RuntimeOptions, ToolSelection
from piolet.cli.args import Arguments

if TYPE_CHECKING:
    from piolet.app.prompt import UserPrompt
    from piolet.app.services import Services

Mode = Literal["interactive", "print", "json", "rpc"]


class StartError(Exception):
    """What keeps the program from starting; the text is for the user."""


def start(arguments: Arguments) -> int:
    """Run the mode that `arguments` ask for; return the exit code."""
    from piolet.app.model_choice import NoSuchModel
    from piolet.cli.prompt_input import InputError
    from piolet.harness.session.errors import SessionError

    try:
        return _start(arguments)
    except (StartError, NoSuchModel, InputError, SessionError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _start(arguments: Arguments) -> int:
    if arguments.help:
        from piolet.cli.args import help_text

        print(help_text())
        return 0
    if arguments.unknown_flags:
        names = [f"--{name}" for name in arguments.unknown_flags]
        raise StartError(f"Unknown option{'s' if len(names) > 1 else ''}: {', '.join(names)}")
    from piolet.app.services import agent_dir, load_services
    from piolet.cli.session_choice import choose_session

    mode = chosen_mode(arguments)
    options = runtime_options(arguments, mode, Path.cwd(), agent_dir(os.environ))
    if arguments.list_models is not None:
        from piolet.cli.list_models import list_models

        return list_models(options, arguments.list_models)
    services = load_services(options)
    prompts = _prompts(arguments, mode, services)
    options = replace(options, session=choose_session(arguments, services.sessions))
    import asyncio

    return asyncio.run(_run(mode, options, services, prompts))


def chosen_mode(arguments: Arguments) -> Mode:
    """Return the mode by the options and by what standard input and output are."""
    if arguments.mode in ("rpc", "json"):
        return "rpc" if arguments.mode == "rpc" else "json"
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return "print" if arguments.print or not terminal else "interactive"


def runtime_options(arguments: Arguments, mode: Mode, cwd: Path, home: Path) -> RuntimeOptions:
    """Return `arguments` as the record that a Runtime takes; the session is chosen later."""
    return RuntimeOptions(
        cwd=cwd,
        agent_dir=home,
        mode=mode,
        session_dir=arguments.session_dir,
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
        trust=True if arguments.approve else False if arguments.no_approve else None,
        offline=os.environ.get("PI_OFFLINE") == "1",
        verbose=arguments.verbose,
    )


def _prompts(arguments: Arguments, mode: Mode, services: Services) -> list[UserPrompt]:
    if mode == "rpc":
        return []
    from piolet.cli.prompt_input import initial_prompts, read_piped_stdin
    from piolet.harness.tools.options import ImageSettings

    images = ImageSettings(auto_resize=services.settings.image_auto_resize)
    return initial_prompts(read_piped_stdin(), arguments.files, arguments.messages, services.cwd, images)


async def _run(mode: Mode, options: RuntimeOptions, services: Services, prompts: list[UserPrompt]) -> int:
    from piolet.app.runtime import Runtime

    runtime = await Runtime.create(options, services)
    for notice in runtime.services.notices:
        print(f"Warning: {notice}", file=sys.stderr)
    gc.enable()
    match mode:
        case "json":
            from piolet.modes.json import run_json

            return await run_json(runtime, prompts)
        case "print":
            from piolet.modes.print import run_print

            return await run_print(runtime, prompts)
        case "rpc":
            from piolet.modes.rpc.mode import run_rpc

            return await run_rpc(runtime)
        case _:
            await runtime.dispose()
            raise StartError(f"The {mode} mode is not in this version; use -p or --mode json")
