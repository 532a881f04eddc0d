"""The command line: a table of options, and a parser that reads it.

Not argparse: values are always the next argument, what is unknown may belong to an extension and is judged later, and
start-up must not pay for it. Source: the command line specification, sections 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from piolet.app.extensions.flags import GivenFlag

Kind: TypeAlias = Literal["flag", "value", "list", "items", "maybe", "print"]

THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


class Option(Struct, frozen=True):
    """One option. Kinds: "flag"; "value" (last wins); "list" (repeatable); "items" (comma-separated); "maybe" (a value
    only if one follows that is no option); "print" (a flag that takes the next argument as a message)."""

    names: tuple[str, ...]
    attribute: str
    kind: Kind
    metavar: str
    help: str
    choices: tuple[str, ...] = ()


OPTIONS: tuple[Option, ...] = (
    Option(("--provider",), "provider", "value", "NAME", "restrict --model to a provider"),
    Option(("--model",), "model", "value", "PATTERN", "model: provider/id, id or part of it, with :LEVEL"),
    Option(("--api-key",), "api_key", "value", "KEY", "key for the chosen model's provider, never stored"),
    Option(("--system-prompt",), "system_prompt", "value", "TEXT", "replace the base prompt (text or a file)"),
    Option(("--append-system-prompt",), "append_system_prompt", "list", "TEXT", "add to the prompt (text or a file)"),
    Option(("--mode",), "mode", "value", "MODE", "text, json or rpc", ("text", "json", "rpc")),
    Option(("-p", "--print"), "print", "print", "", "answer on standard output and end"),
    Option(("-c", "--continue"), "continue_", "flag", "", "go on with the latest session of this folder"),
    Option(("-r", "--resume"), "resume", "flag", "", "choose a session from a list"),
    Option(("--session",), "session", "value", "PATH|ID", "open a session by path, id or start of an id"),
    Option(("--session-id",), "session_id", "value", "ID", "use this exact id, made if it is new"),
    Option(("--fork",), "fork", "value", "PATH|ID", "copy a session into this folder and open the copy"),
    Option(("--session-dir",), "session_dir", "value", "DIR", "where sessions are kept and looked for"),
    Option(("--no-session",), "no_session", "flag", "", "keep the session in memory"),
    Option(("-n", "--name"), "name", "value", "NAME", "name of the session"),
    Option(("--models",), "models", "items", "A,B", "models to cycle through"),
    Option(("-nt", "--no-tools"), "no_tools", "flag", "", "no tools at all"),
    Option(("-nbt", "--no-builtin-tools"), "no_builtin_tools", "flag", "", "only tools of extensions"),
    Option(("-t", "--tools"), "tools", "items", "A,B", "tools to offer; +name and -name change the default set"),
    Option(("-xt", "--exclude-tools"), "exclude_tools", "items", "A,B", "tools to leave out"),
    Option(("--thinking",), "thinking", "value", "LEVEL", ", ".join(THINKING_LEVELS), THINKING_LEVELS),
    Option(("-e", "--extension"), "extensions", "list", "PATH", "load an extension"),
    Option(("-ne", "--no-extensions"), "no_extensions", "flag", "", "look for no extensions"),
    Option(("--skill",), "skills", "list", "PATH", "load a skill"),
    Option(("-ns", "--no-skills"), "no_skills", "flag", "", "look for no skills"),
    Option(("--prompt-template",), "prompt_templates", "list", "PATH", "load a prompt template"),
    Option(("-np", "--no-prompt-templates"), "no_prompt_templates", "flag", "", "look for no prompt templates"),
    Option(("--theme",), "themes", "list", "PATH", "load a theme"),
    Option(("--no-themes",), "no_themes", "flag", "", "look for no themes"),
    Option(("--use-theme",), "use_theme", "value", "NAME", "theme of this run, or a light/dark pair"),
    Option(("-nc", "--no-context-files"), "no_context_files", "flag", "", "read no AGENTS.md or CLAUDE.md"),
    Option(
        ("--export",),
        "export",
        "value",
        "FILE",
        "write a session as HTML (to the path given next) and end; as JSONL if that path ends so",
    ),
    Option(("--list-models",), "list_models", "maybe", "[SEARCH]", "list the models that can be used and end"),
    Option(("--tui-mode",), "tui_mode", "value", "MODE", "regular or fullscreen", ("regular", "fullscreen")),
    Option(("--verbose",), "verbose", "flag", "", "say more; show tracebacks and slow handlers"),
    Option(
        ("--env",), "env", "value", "ENV", "where tools act: sandbox, docker:IMAGE, container:NAME, ssh:HOST[:PATH]"
    ),
    Option(("-a", "--approve"), "approve", "flag", "", "trust the files of the project for this run"),
    Option(("-na", "--no-approve"), "no_approve", "flag", "", "do not trust the files of the project for this run"),
    Option(("--offline",), "offline", "flag", "", "no network use but the model"),
    Option(("--no-mcp",), "no_mcp", "flag", "", "no built-in MCP"),
    Option(("-h", "--help"), "help", "flag", "", "show this help and end"),
    Option(("-v", "--version"), "version", "flag", "", "show the version and end"),
)

_BY_NAME = {name: option for option in OPTIONS for name in option.names}
OPTION_NAMES = tuple(_BY_NAME)


class Arguments(Struct):
    """A parsed command line. `unknown_flags`, by name, may belong to extensions."""

    provider: str | None = None
    model: str | None = None
    api_key: str | None = None
    system_prompt: str | None = None
    append_system_prompt: list[str] | None = None
    mode: str | None = None
    print: bool = False
    continue_: bool = False
    resume: bool = False
    session: str | None = None
    session_id: str | None = None
    fork: str | None = None
    session_dir: str | None = None
    no_session: bool = False
    name: str | None = None
    models: list[str] | None = None
    no_tools: bool = False
    no_builtin_tools: bool = False
    tools: list[str] | None = None
    exclude_tools: list[str] | None = None
    thinking: str | None = None
    extensions: list[str] | None = None
    no_extensions: bool = False
    skills: list[str] | None = None
    no_skills: bool = False
    prompt_templates: list[str] | None = None
    no_prompt_templates: bool = False
    themes: list[str] | None = None
    no_themes: bool = False
    use_theme: str | None = None
    no_context_files: bool = False
    export: str | None = None
    list_models: str | None = None
    tui_mode: str | None = None
    verbose: bool = False
    env: str | None = None
    approve: bool = False
    no_approve: bool = False
    offline: bool = False
    no_mcp: bool = False
    help: bool = False
    version: bool = False
    messages: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    unknown_flags: dict[str, GivenFlag] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse `argv` (without the command's name). What is wrong is collected in `errors` and `warnings`."""
    parsed = Arguments()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        option = _BY_NAME.get(word)
        if word == "--":
            for text in rest:
                _positional(parsed, text)
            break
        if option is not None and _take(parsed, option, rest):
            continue
        if word.startswith("--"):
            _unknown(parsed, word, rest)
        elif word.startswith("-") and len(word) > 1:
            from piolet.cli.suggestions import unknown_options

            parsed.errors.append(unknown_options([word]))
        else:
            _positional(parsed, word)
    _judge(parsed)
    return parsed


def _take(parsed: Arguments, option: Option, rest: list[str]) -> bool:
    """Take `option` and its value off the front of `rest`; False if its value is missing."""
    match option.kind:
        case "flag":
            setattr(parsed, option.attribute, True)
        case "print":
            parsed.print = True
            if rest and not rest[0].startswith("@") and (not rest[0].startswith("-") or rest[0].startswith("---")):
                parsed.messages.append(rest.pop(0))
        case "maybe":
            follows = bool(rest) and not rest[0].startswith(("-", "@"))
            setattr(parsed, option.attribute, rest.pop(0) if follows else "")
        case _ if not rest or (option.attribute == "use_theme" and rest[0].startswith("-")):
            if option.attribute == "name":
                parsed.errors.append("--name needs a name: --name NAME")
                return True
            return False
        case "value":
            setattr(parsed, option.attribute, rest.pop(0))
        case "list":
            values = getattr(parsed, option.attribute) or []
            setattr(parsed, option.attribute, [*values, rest.pop(0)])
        case "items":
            items = [item.strip() for item in rest.pop(0).split(",")]
            setattr(parsed, option.attribute, [item for item in items if item])
    return True


def _positional(parsed: Arguments, word: str) -> None:
    if word.startswith("@") and len(word) > 1:
        parsed.files.append(word[1:])
    else:
        parsed.messages.append(word)


def _unknown(parsed: Arguments, word: str, rest: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    follows = not equals and rest and not rest[0].startswith(("-", "@"))
    given = value if equals else rest.pop(0) if follows else None
    parsed.unknown_flags[name] = GivenFlag(given, bool(equals), len(parsed.messages))


def _judge(parsed: Arguments) -> None:
    """Check values and combinations."""
    errors = parsed.errors
    for option in OPTIONS:
        value = getattr(parsed, option.attribute)
        if not option.choices or value is None or value in option.choices:
            continue
        if option.attribute == "thinking":
            parsed.warnings.append(f'Invalid thinking level "{value}". Valid values: {", ".join(THINKING_LEVELS)}')
            parsed.thinking = None
        else:
            errors.append(f"{option.names[-1]} takes {' or '.join(option.choices)}, not {value!r}")
    if parsed.name is not None:
        parsed.name = parsed.name.strip()
        if not parsed.name:
            errors.append("--name needs a name that is not empty")
    if parsed.provider is not None and parsed.model is None:
        errors.append("--provider needs --model: piolet --provider NAME --model PATTERN")
    if parsed.api_key is not None and parsed.model is None and parsed.models is None:
        errors.append("--api-key needs a model to be used with: --model PATTERN or --models A,B")
    if parsed.mode == "rpc" and parsed.files:
        errors.append("@file arguments are not supported in RPC mode")
    if parsed.approve and parsed.no_approve:
        errors.append("--approve cannot be combined with --no-approve")
    _conflicts(errors, "--fork", parsed.fork, parsed, ("session", "continue_", "resume", "no_session"))
    _conflicts(errors, "--session-id", parsed.session_id, parsed, ("session", "continue_", "resume"))
    modifies = [item for item in parsed.tools or () if item[0] in "+-"]
    if modifies and len(modifies) != len(parsed.tools or ()):
        errors.append("--tools takes either names or changes (+name, -name), not both")


def _conflicts(errors: list[str], name: str, value: object, parsed: Arguments, others: tuple[str, ...]) -> None:
    for option in OPTIONS:
        if value is not None and option.attribute in others and getattr(parsed, option.attribute):
            errors.append(f"{name} cannot be combined with {option.names[-1]}")
