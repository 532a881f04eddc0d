"""What a `ShellEnvironment` lets a POSIX shell do on the far side: small scripts, each for one operation.

They are kept to what dash, bash, busybox and ksh have in common, with the tools of GNU, busybox or BSD. A script finds
its arguments in ``$1``, ``$2``, …, and says what went wrong in the last line of its standard error, as the tools do
(``NAME: Reason``).

How it is told apart from the noise of a login, and when it ends: its mark, a text that occurs nowhere else, and LF
begin both streams, on standard output with the process group in between for a program that can be killed. Behind the
script come, on standard output, the mark, the exit code and LF; on standard error the mark and LF.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

#: The program of a shell on the far side. Each line of its input is a mark, ``+`` or ``.``, and a script. A script with
#: ``.`` is the last one, and has the rest of the input for itself; what it leaves is read all the same, because engines
#: lose output over input that nobody reads. The program has no single quotes, backslashes and line ends, so that it
#: passes through any login shell.
LAUNCHER: Final = (
    'while IFS=" " read -r m k s; do (eval "$(printf %b "$s")"); echo "$m$?"; echo "$m" >&2; '
    "[ $k = + ] || { cat >/dev/null; break; }; done"
)

_TO_ESCAPE: Final = re.compile(rb"[^ -\[\]-~]")


def line_of(mark: str, script: str, *, is_last: bool) -> bytes:
    """Return the line that lets `LAUNCHER` run `script`."""
    escaped = _TO_ESCAPE.sub(lambda found: b"\\0%03o" % found[0][0], script.encode("utf-8", "surrogateescape"))
    return f"{mark} {'.' if is_last else '+'} ".encode() + escaped + b"\n"


def file_script(body: str, arguments: Sequence[str]) -> str:
    """Return the script `body` with its arguments."""
    words = " ".join(map(shlex.quote, arguments))
    return f'echo "$m"; echo "$m" >&2\nLC_ALL=C; export LC_ALL\nset -- {words}\n{body}'


def program_script(cwd: str, env: Mapping[str, str | None], argv: Sequence[str], *, has_stdin: bool) -> str:
    """Return a script that runs a program in a process group of its own.

    If the folder or the program is missing, ``cwd`` or ``program`` stands in place of the group. Raises ValueError for
    a variable that has no name.
    """
    for name in env:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"{name!r} is no name of a variable that a shell can pass on")
    words = " ".join(map(shlex.quote, argv))
    lines = [
        'echo "$m" >&2',
        "exec 3<&0" if has_stdin else "exec 3</dev/null",
        *(f"unset {name}" for name, value in env.items() if value is None),
        *(f"{name}={shlex.quote(value)}; export {name}" for name, value in env.items() if value is not None),
        f"cd {shlex.quote(cwd)} 2>/dev/null || {{ echo ${{m}}cwd; exit; }}",
        f"set -- {words}",
    ]
    return "\n".join(lines) + _RUN


_RUN: Final = r"""
case $1 in
  */*) [ -e "$1" ] ;;
  *) command -v "$1" >/dev/null 2>&1 ;;
esac || { echo ${m}program; exit; }
exec 4>&2 2>/dev/null
# A bash that finds itself the first one behind ssh would read the user's settings for a terminal.
[ "${SHLVL:-0}" -ge 1 ] || { SHLVL=1; export SHLVL; }
i='printf "%s%s\n" "$0" "${1:-$$}" && shift && exec "$@"'
if command -v setsid >/dev/null; then
  setsid sh -c "$i" $m '' "$@" <&3 2>&4 3<&- 4>&- &
elif kill -0 -$$; then
  sh -c "$i" $m $$ "$@" <&3 2>&4 3<&- 4>&- &
else
  sh -c "$i" $m '' "$@" <&3 2>&4 3<&- 4>&- &
fi
exec 3<&- 4>&-
wait $!
"""

#: Send the signal `$1` to the process group `$2`, and after a KILL wait a moment for it to be gone.
SIGNAL: Final = r"""
kill -$1 -$2 2>/dev/null || kill -$1 $2
n=0
while [ $1 = KILL ] && kill -0 -$2 2>/dev/null && [ $n -lt 20 ]; do
  sleep 0.02
  n=$((n + 1))
done
true
"""

_NEEDED: Final = "cat cp grep head ls mkdir mv readlink rm stat tail tr wc"

#: Folder, home, folder for temporary files, shell, ripgrep, how ``stat`` is called, and what is missing of the programs
#: that the other scripts need; each with a NUL.
LOOK: Final = r"""
CDPATH=
case $1 in
  '') ;;
  '~') cd ;;
  '~/'*) cd "$HOME/${1#??}" ;;
  *) cd -- "$1" ;;
esac || exit 1
for b in /bin/bash "$(command -v bash)" "$(command -v sh)"; do
  [ -x "$b" ] && break
done
stat -c %f / >/dev/null 2>&1 && f=gnu || f=bsd
n=
for p in NEEDED; do
  command -v $p >/dev/null || n="$n $p"
done
printf '%s\0' "$(pwd)" "${HOME:-/}" "${TMPDIR:-/tmp}" "$b" "$(command -v rg)" $f "$n"
""".replace("NEEDED", _NEEDED)

_REFUSE: Final = r"""
refuse() { # what cannot be read or written as a file
  if [ -d "$1" ]; then echo "$1: Is a directory"
  elif [ -p "$1" ]; then echo "$1: not a regular file but a fifo"
  elif [ -S "$1" ]; then echo "$1: not a regular file but a socket"
  elif [ -e "$1" ]; then echo "$1: not a regular file but a device"
  else ls -dL -- "$1"
  fi >&2
  exit 1
}
denied() { echo "$1: Permission denied" >&2; exit 1; }
"""

_CANONICAL: Final = r"""
canonical() { # of an absolute path: the path with links followed, in $c
  c= r=$1 n=0
  while [ -n "$r" ]; do
    r=${r#/}
    h=${r%%/*}
    case $r in
      */*) r=/${r#*/} ;;
      *) r= ;;
    esac
    case $h in
      ''|.) ;;
      ..) c=${c%/*} ;;
      *) if [ -L "$c/$h" ]; then
           n=$((n + 1))
           [ $n -le 40 ] || return 1
           l=$(readlink -- "$c/$h"; echo x)
           l=${l%?x}
           case $l in
             /*) c= ;;
           esac
           r=$l$r
         else
           c=$c/$h
         fi ;;
    esac
  done
  c=${c:-/}
}
"""

_STAT: Final = {
    "gnu": r"""
look() { stat -c '%f %s %.9Y' -- "$1"; }
follow() { stat -L -c '%f %s %.9Y' -- "$1"; }
links() { stat -L -c %h -- "$1"; }
""",
    "bsd": r"""
look() { stat -f '%Xp %z %Fm' -- "$1"; }
follow() { stat -L -f '%Xp %z %Fm' -- "$1"; }
links() { stat -L -f %l -- "$1"; }
""",
}

CANONICAL: Final = (
    _CANONICAL
    + r"""
canonical "$1" || c=$1
printf %s "$c"
"""
)

READ: Final = (
    _REFUSE
    + r"""
# path, number of the first byte from 1, number of bytes or nothing
[ -f "$1" ] || refuse "$1"
[ -r "$1" ] || denied "$1"
if [ -n "$3" ]; then
  tail -c +$2 -- "$1" | head -c $3
elif [ $2 = 1 ]; then
  exec cat -- "$1"
else
  exec tail -c +$2 -- "$1"
fi
"""
)

APPEND: Final = r"""
umask 077
cat >>"$1"
"""

REMOVE: Final = r"""
exec rm -- "$1"
"""

TEMP: Final = r"""
umask 077
set -C
: >"$1" && printf %s "$1"
"""

_FOLDER: Final = r"""
kind() {
  if [ -f "$1" ]; then k=f
  elif [ -d "$1" ]; then k=d
  elif [ -p "$1" ]; then k=p
  elif [ -S "$1" ]; then k=s
  elif [ -e "$1" ]; then k=c
  else k=-
  fi
}
entries() { # of a folder: kind, what a link leads to, name, NUL
  for f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    kind "$f"
    if [ -L "$f" ]; then printf 'l%s%s\0' $k "${f##*/}"
    elif [ $k != - ]; then printf '%s-%s\0' $k "${f##*/}"
    fi
  done
}
"""

LIST: Final = (
    _FOLDER
    + r"""
if [ ! -d "$1" ]; then
  ls -d -- "$1/." >&2
  exit 1
fi
[ -r "$1" ] || { echo "$1: Permission denied" >&2; exit 1; }
entries "$1"
"""
)

#: Of many folders: their entries, then each of the files named in `$1` (``.gitignore .ignore``) with its text, without
#: NUL bytes; an empty record at the end of each folder.
SURVEY: Final = (
    _FOLDER
    + r"""
w=$1
shift
for d do
  entries "$d"
  for i in $w; do
    [ -f "$d/$i" ] && [ -r "$d/$i" ] || continue
    printf 't-%s\0' $i
    tr -d '\000' <"$d/$i"
    printf '\0'
  done
  printf '\0'
done
"""
)

#: Of many paths: for each ``+`` or ``-`` for whether there is something, then its text if it is a file; NUL.
PEEK: Final = r"""
for p do
  [ -e "$p" ] && printf + || printf -
  [ -f "$p" ] && [ -r "$p" ] && tr -d '\000' <"$p"
  printf '\0'
done
"""

#: The first `$1` bytes of many files, each followed by the text `$2`; of what is no file, nothing.
HEADS: Final = r"""
w=$1 e=$2
shift 2
for p do
  [ -f "$p" ] && [ -r "$p" ] && head -c $w -- "$p"
  printf %s "$e"
done
"""

#: Those of many files in which one of three texts occurs, each with LF.
CONTAINING: Final = r"""
a=$1 b=$2 c=$3
shift 3
grep -slF -e "$a" -e "$b" -e "$c" -- "$@"
true
"""


def stat_script(form: str, *, follow: bool) -> str:
    """Return a script that gives raw mode (hexadecimal), size and time of what is at `$1`."""
    return f'{_STAT[form]}\n{"follow" if follow else "look"} "$1"\n'


def snapshot_script(form: str, *, contents: bool) -> str:
    """Return a script that gives for each file: its number from 0, what `stat` says, LF, its content, the text `$1`."""
    content = 'cat -- "$p"' if contents else ":"
    return f"""{_STAT[form]}
e=$1 i=0
shift
for p do
  if [ -f "$p" ] && [ -r "$p" ] && s=$(follow "$p"); then
    echo $i $s
    {content}
    printf %s "$e"
  fi
  i=$((i + 1))
done
"""


def write_script(form: str) -> str:
    """Return a script that puts standard input, `$2` bytes, in the place of the file `$1`; `$3` is a free name.

    The bytes are counted before anything is replaced: a connection that breaks must not cut a file off.
    """
    return _STAT[form] + _REFUSE + _CANONICAL + _WRITE


_WRITE: Final = r"""
canonical "$1" || refuse "$1"
t=$c d=${c%/*}/ u=
if [ -e "$t" ]; then
  [ -f "$t" ] || refuse "$t"
  [ -w "$t" ] || denied "$t"
  # A rename would part hard links, and a folder may take no new file.
  { [ $(links "$t") -gt 1 ] || [ ! -w "$d" ]; } && u=yes
else
  e=$(ls -dL -- "$t" 2>&1 >/dev/null)
  case $e in
    ''|*'o such file'*) mkdir -p -- "$d" || exit 1 ;;
    *) echo "$e" >&2; exit 1 ;;
  esac
fi
n=$d$3
[ -z "$u" ] || n=${TMPDIR:-/tmp}/$3
trap '[ ! -e "$n" ] || rm -f -- "$n"' EXIT
if [ -n "$u" ]; then
  umask 077
elif [ -e "$t" ]; then
  cp -a --attributes-only -- "$t" "$n" 2>/dev/null || cp -p -- "$t" "$n" || exit 1
fi
cat >"$n" || exit 1
[ $(($(wc -c <"$n"))) = $2 ] || { echo "$1: Input/output error" >&2; exit 1; }
if [ -n "$u" ]; then
  cat -- "$n" >"$t"
else
  mv -f -- "$n" "$t" 2>/dev/null || cat -- "$n" >"$t"
fi
"""
