"""``piolet completion bash|zsh|fish``: a script for the shell that completes options, their values and commands."""

from __future__ import annotations

from collections.abc import Sequence

from piolet.cli.args import OPTIONS
from piolet.cli.main import COMMANDS
from piolet.modes.say import complain

SHELLS = ("bash", "zsh", "fish")
#: Words after a command of its own.
SUBCOMMANDS = {
    "auth": "login logout status check print-api-key print-bearer-token",
    "sessions": "list show tree search open export import rename delete verify",
    "completion": " ".join(SHELLS),
}
#: Options whose value is a file or folder.
_FILES = frozenset(
    {"session", "fork", "session_dir", "extensions", "skills", "prompt_templates", "themes", "export", "system_prompt"}
)


def main(argv: Sequence[str]) -> int:
    """Print the script; `argv` begins with "completion". Return the exit code."""
    shell = argv[1] if len(argv) == 2 else ""
    match shell:
        case "bash":
            print(_bash())
        case "zsh":
            print("#compdef piolet\nautoload -U +X bashcompinit && bashcompinit\n" + _bash())
        case "fish":
            print(_fish())
        case _:
            complain(
                f"piolet completion takes {', '.join(SHELLS)}. For bash: "
                "piolet completion bash > ~/.local/share/bash-completion/completions/piolet"
            )
            return 0 if shell in ("-h", "--help") else 1
    return 0


def _bash() -> str:
    """Return the script for bash: a function over the table of options."""
    names = " ".join(name for option in OPTIONS for name in option.names)
    cases = []
    for option in OPTIONS:
        if option.choices:
            reply = f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current"))'
        elif option.attribute in _FILES:
            reply = 'COMPREPLY=($(compgen -f -- "$current"))'
        else:
            continue
        cases.append(f"        {'|'.join(option.names)}) {reply}; return ;;")
    words = [
        f'        {command}) COMPREPLY=($(compgen -W "{words}" -- "$current")); return ;;'
        for command, words in SUBCOMMANDS.items()
    ]
    return "\n".join(
        [
            "_piolet() {",
            '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
            '    case "$previous" in',
            *cases,
            "    esac",
            '    if [ "$COMP_CWORD" -eq 2 ]; then case "${COMP_WORDS[1]}" in',
            *words,
            "    esac; fi",
            '    case "$current" in',
            '        @*) COMPREPLY=($(compgen -P @ -f -- "${current#@}")); return ;;',
            f'        -*) COMPREPLY=($(compgen -W "{names}" -- "$current")); return ;;',
            "    esac",
            f'    if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$current")); fi',
            "}",
            "complete -o default -F _piolet piolet",
        ]
    )


def _fish() -> str:
    """Return the script for fish: one line for each option and command."""
    lines = []
    for option in OPTIONS:
        parts = ["complete -c piolet"]
        for name in option.names:
            dashes, word = ("-l", name[2:]) if name.startswith("--") else ("-o", name[1:])
            parts.append(f"-s {word}" if dashes == "-o" and len(word) == 1 else f"{dashes} {word}")
        if option.choices:
            parts.append(f"-x -a '{' '.join(option.choices)}'")
        elif option.attribute in _FILES:
            parts.append("-r -F")
        elif option.kind in ("value", "list", "items"):
            parts.append("-x")
        parts.append("-d '{}'".format(option.help.replace("'", "\\'")))
        lines.append(" ".join(parts))
    lines += [f"complete -c piolet -n __fish_use_subcommand -a {command}" for command in COMMANDS]
    lines += [
        f"complete -c piolet -n '__fish_seen_subcommand_from {command}' -a '{words}'"
        for command, words in SUBCOMMANDS.items()
    ]
    return "\n".join(lines)
