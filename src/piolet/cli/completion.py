"""``piolet completion bash|zsh|fish``: a script for the shell that completes options, their values and commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from piolet.cli.args import OPTIONS, Option
from piolet.cli.main import COMMANDS
from piolet.modes.say import complain

SHELLS = ("bash", "zsh", "fish")
#: Words after a command of its own.
SUBCOMMANDS = {
    "auth": "login logout status check print-api-key print-bearer-token",
    "sessions": "list show tree search open export import rename delete verify",
    "completion": " ".join(SHELLS),
}
#: Options whose value may be a file or folder.
_FILES = frozenset(
    {
        "system_prompt",
        "append_system_prompt",
        "session",
        "fork",
        "session_dir",
        "extensions",
        "skills",
        "prompt_templates",
        "themes",
        "export",
    }
)


_USAGE = (
    f"piolet completion takes {', '.join(SHELLS)}. For bash: "
    "piolet completion bash > ~/.local/share/bash-completion/completions/piolet"
)


def main(argv: Sequence[str]) -> int:
    """Print the script; `argv` begins with "completion". Return the exit code."""
    shell = argv[1] if len(argv) == 2 else ""
    match shell:
        case "bash":
            print(_bash())
        case "zsh":
            print(_zsh())
        case "fish":
            print(_fish())
        case "-h" | "--help":
            print(_USAGE)
        case _:
            complain(_USAGE)
            return 1
    return 0


def _values() -> Iterator[tuple[Option, str | None]]:
    """Give the options whose values can be completed: with the words to choose from, None for files."""
    for option in OPTIONS:
        if option.choices:
            yield option, " ".join(option.choices)
        elif option.attribute in _FILES:
            yield option, None


def _bash() -> str:
    """Return the script for bash. Where it has nothing to say, bash itself completes files."""
    values = [
        f"        {'|'.join(option.names)}) "
        + (f'COMPREPLY=($(compgen -W "{words}" -- "$current")); return ;;' if words else "return ;;")
        for option, words in _values()
    ]
    subcommands = [
        f'        "{command} ") COMPREPLY=($(compgen -W "{words}" -- "$current")) ;;'
        for command, words in SUBCOMMANDS.items()
    ]
    names = " ".join(name for option in OPTIONS for name in option.names)
    return "\n".join(
        [
            "_piolet() {",
            '    local current="$2" open= word',
            '    case "${COMP_WORDS[COMP_CWORD]}" in [\\"\\\']*) open=yes ;; esac',
            '    local before="${COMP_WORDS[*]:1:COMP_CWORD-1} "',
            '    [ "$open" ] || current="${current//\\\\/}"',
            '    case "$3" in',
            *values,
            "    esac",
            '    case "$current" in',
            "        @*)",
            "            while IFS= read -r word; do",
            '                [ -d "${word/#\\~/$HOME}" ] && word="$word/" && compopt -o nospace 2>/dev/null',
            '                [ "$open" ] || printf -v word "%q" "$word"',
            '                COMPREPLY+=("@$word")',
            '            done < <(compgen -f -- "${current#@}")',
            "            return ;;",
            f'        -*) COMPREPLY=($(compgen -W "{names}" -- "$current")); return ;;',
            "    esac",
            '    case "$before" in',
            f'        " ") COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$current")) ;;',
            *subcommands,
            "    esac",
            "}",
            "complete -o default -F _piolet piolet",
        ]
    )


def _zsh() -> str:
    """Return the script for zsh: to be sourced, or a file ``_piolet`` in a folder of ``$fpath``."""
    values = [
        f"        {'|'.join(option.names)}) " + (f"compadd -- {words}" if words else "_files") + "; return ;;"
        for option, words in _values()
    ]
    subcommands = [f"        {command}) compadd -- {words}; return ;;" for command, words in SUBCOMMANDS.items()]
    described = ["        " + _quoted(f"{name}:{option.help}") for option in OPTIONS for name in option.names]
    return "\n".join(
        [
            "#compdef piolet",
            "_piolet() {",
            "    local -a options=(",
            *described,
            "    )",
            "    case $words[CURRENT-1] in",
            *values,
            "    esac",
            "    case $PREFIX in",
            "        @*) compset -P @; _files; return ;;",
            "        -*) _describe -o option options; return ;;",
            "    esac",
            "    (( CURRENT == 3 )) && case $words[2] in",
            *subcommands,
            "    esac",
            f"    (( CURRENT == 2 )) && compadd -- {' '.join(COMMANDS)}",
            "    _files",
            "}",
            'if [ "$funcstack[1]" = _piolet ]; then _piolet "$@"; else compdef _piolet piolet; fi',
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
        parts.append(f"-d {_quoted(option.help)}")
        lines.append(" ".join(parts))
    lines += [f"complete -c piolet -n __fish_use_subcommand -a {command}" for command in COMMANDS]
    lines += [
        f"complete -c piolet -n '__fish_seen_subcommand_from {command}' -a '{words}'"
        for command, words in SUBCOMMANDS.items()
    ]
    files = "(__fish_complete_path (commandline -ct | string sub -s 2 | string unescape) | string replace -r '^' @)"
    lines.append(f"complete -c piolet -n 'string match -q \"@*\" -- (commandline -ct)' -a {_quoted(files)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return `text` as a word of zsh and fish. Both keep a backslash before a quote between double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`") + '"'
