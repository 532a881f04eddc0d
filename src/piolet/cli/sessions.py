"""``piolet sessions``: look at session files, search them, copy them, repair them. What only reads changes no byte."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piolet.base.ansi import strip_escapes
from piolet.base.json import dumps, loads, to_plain
from piolet.cli.progress import Progress
from piolet.harness.session.errors import SessionError
from piolet.harness.session.places import SessionPlace
from piolet.harness.session.session import Session
from piolet.modes.say import complain, one_line, warn

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from piolet.harness.session.listing import SessionInfo

_CONTROLS = re.compile("[\x7f-\x9f]")
_MOST_NAMED = 3
_SHORT_ID = 13  # characters of a UUID version 7 that tell its millisecond


def main(argv: Sequence[str]) -> int:
    """Run ``piolet sessions …``; `argv` begins with "sessions". Return the exit code: 1 for failures and problems."""
    arguments = _parser().parse_args(argv[1:])
    from piolet.app.trust import TrustError

    try:
        return int(arguments.run(arguments))
    except (SessionError, TrustError) as error:
        complain(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    return 1


def _parser() -> ArgumentParser:
    from piolet.cli.command_parser import CommandParser

    parser = CommandParser(prog="piolet sessions", description="Look at stored sessions, search, copy, repair them.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, run: Callable[[Namespace], int], help: str) -> ArgumentParser:
        command: ArgumentParser = commands.add_parser(name, help=help, description=help)
        command.set_defaults(run=run)
        command.add_argument("--json", action="store_true", help="write JSON")
        command.add_argument("--session-dir", metavar="DIR", help="the folder of the sessions")
        return command

    def add_for_one(name: str, run: Callable[[Namespace], int], help: str) -> ArgumentParser:
        command = add(name, run, help)
        command.add_argument("session", metavar="SESSION", help="id, beginning of an id, or file")
        return command

    add("list", _list, "list the sessions of this folder").add_argument(
        "--all", action="store_true", help="those of all folders"
    )
    add_for_one("show", _show, "show the current branch of a session")
    add_for_one("tree", _tree, "show all branches of a session")
    add("search", _search, 'search all folders: words, "a phrase", or re:PATTERN').add_argument(
        "query", nargs="+", metavar="QUERY"
    )
    add_for_one("open", _open_page, "show a session with all its branches in the browser").add_argument(
        "file", nargs="?", metavar="FILE", help="where to write the page; default: a temporary folder"
    )
    add_for_one("export", _export, "write the current branch as a session file").add_argument(
        "file", nargs="?", metavar="FILE", help="default: session-TIME.jsonl; - for standard output"
    )
    add("import", _import, "copy a session file into this folder's sessions").add_argument("file", metavar="FILE")
    add_for_one("rename", _rename, "name a session").add_argument("name", nargs="+", metavar="NAME")
    add_for_one("delete", _delete, "move a session to the trash, or delete it where there is none")
    verify = add("verify", _verify, "tell what is wrong with session files")
    verify.add_argument("session", nargs="*", metavar="SESSION", help="default: the sessions of this folder")
    verify.add_argument("--all", action="store_true", help="the sessions of all folders")
    verify.add_argument("--repair", action="store_true", help="write a repaired copy beside each file with problems")
    return parser


# ------------------------------------------------------------------------------------------------------------ looking


def _list(arguments: Namespace) -> int:
    place = session_place(arguments.session_dir)
    infos = _read_infos(place.all_files()) if arguments.all else _read_infos(place.files(), place)
    return _print_infos(arguments, infos, "No sessions here")


def _search(arguments: Namespace) -> int:
    from piolet.harness.session.picker import search

    infos = _read_infos(session_place(arguments.session_dir).all_files())
    found = search(infos, " ".join(arguments.query))
    return _print_infos(arguments, found, "Nothing found")


def _show(arguments: Namespace) -> int:
    from piolet.cli.session_text import entry_text

    with _open(arguments) as session:
        if arguments.json:
            _print_json(_facts(session) | {"entries": [loads(line) for line in session.lines(session.path_heads())]})
            return 0
        totals = session.totals()
        print(one_line(f"{session.name or 'Session'} {session.id}"))
        print(one_line(f"{session.path}"))
        print(one_line(f"{session.cwd}, {totals.messages} messages, {totals.tokens} tokens, ${totals.cost:.4f}"))
        for entry in session.path_to():
            shown = entry_text(entry)
            print(f"\n[{one_line(shown.title)}]")
            if shown.text:
                print(_clean(shown.text))
        _warn_of_problems(session)
    return 0


def _tree(arguments: Namespace) -> int:
    from piolet.cli.session_text import entry_text
    from piolet.harness.session.tree import walk

    with _open(arguments) as session:
        shown: list[dict[str, Any]] = []
        levels: dict[str, int] = {}
        for node, depth in walk(session.tree()):
            entry = session.entry(node.head)
            text = entry_text(entry)
            # Only a fork indents: a conversation is a long chain.
            level = levels.pop(node.id, 0)
            for child in node.children:
                levels[child.id] = level + (len(node.children) > 1)
            facts = {
                "id": node.id,
                "parentId": node.head.parent_id,
                "depth": depth,
                "type": node.head.type,
                "role": node.head.role,
                "timestamp": entry.timestamp,
                "label": node.label,
                "text": text.text,
            }
            shown.append({key: value for key, value in facts.items() if value is not None})
            if not arguments.json:
                mark = "*" if node.id == session.leaf_id else " "
                label = f" <{node.label}>" if node.label else ""
                print(one_line(f"{mark} {'  ' * level}{node.id}{label} {text.title}: {text.text[:200]}")[:160])
        if arguments.json:
            _print_json(_facts(session) | {"nodes": shown})
        else:
            _warn_of_problems(session)
    return 0


def _open_page(arguments: Namespace) -> int:
    from tempfile import mkdtemp

    from piolet.app.options import RuntimeOptions, agent_dir
    from piolet.cli.export import write_page
    from piolet.cli.opener import open_page

    path = _find(arguments)
    target = arguments.file or os.path.join(mkdtemp(prefix="piolet-"), f"{Path(path).stem}.html")
    written = os.path.abspath(
        os.path.expanduser(write_page(path, target, RuntimeOptions(Path.cwd(), agent_dir(os.environ))))
    )
    if not open_page(written):
        warn("There is no program here that opens it in a browser")
    return _print_result(arguments, {"path": written}, f"Written to: {written}")


# ------------------------------------------------------------------------------------------------------------ changing


def _export(arguments: Namespace) -> int:
    from piolet.harness.session.copying import export_jsonl, exported_text

    with _open(arguments) as session, Progress("Exporting"):
        if arguments.file == "-":
            from piolet.cli.export import write_out

            write_out(exported_text(session))
            return 0
        path = export_jsonl(session, arguments.file)
    return _print_result(arguments, {"path": path}, f"Exported to: {path}")


def _import(arguments: Namespace) -> int:
    from piolet.harness.session.copying import import_jsonl

    source = os.path.expanduser(arguments.file)
    with Progress(f"Importing {arguments.file}"):
        # Its working directory may be one of another machine: who opens the copy is asked then.
        path = import_jsonl(source, session_place(arguments.session_dir).folder, cwd_override=os.getcwd())
    return _print_result(arguments, {"path": path}, f"Imported as: {path}")


def _rename(arguments: Namespace) -> int:
    from piolet.harness.session.upkeep import rename_session

    path = _find(arguments)
    name = rename_session(path, " ".join(arguments.name))
    return _print_result(arguments, {"path": path, "name": name}, f"Named: {name}" if name else "It has no name now")


def _delete(arguments: Namespace) -> int:
    from piolet.harness.session.upkeep import delete_session

    path = _find(arguments, copies=False)
    how = delete_session(path)
    done = "Moved to the trash" if how == "trash" else "Deleted"
    return _print_result(arguments, {"path": path, "how": how}, f"{done}: {path}")


def _verify(arguments: Namespace) -> int:
    from piolet.harness.session.verify import repair, verify

    place = session_place(arguments.session_dir)
    if arguments.session:
        paths: Iterable[str] = [_find_in(place, reference) for reference in arguments.session]
    else:
        paths = place.all_files() if arguments.all else place.files()
    results: list[dict[str, Any]] = []
    unread: list[str] = []
    with Progress("Repairing" if arguments.repair else "Checking") as progress:
        for path in progress.each(paths):
            try:
                report = verify(path)
            except OSError as error:
                unread.append(f"{path} cannot be read: {error.strerror}")
                continue
            result: dict[str, Any] = {
                "path": path,
                "entries": report.entries,
                "problems": [to_plain(problem) for problem in report.problems],
            }
            if report.problems and arguments.repair:
                result["repaired"] = repair(path)
            results.append(result)
    for problem in unread:
        complain(problem)
    for result in () if arguments.json else results:
        count = len(result["problems"])
        found = f"{count} problem{'s' if count > 1 else ''}" if count else "sound"
        print(one_line(f"{result['path']}: {result['entries']} entries, {found}"))
        for problem in result["problems"]:
            print(one_line(f"  line {problem['line']}: {problem['kind']}: {problem['text']}"))
        if "repaired" in result:
            print(one_line(f"  repaired copy: {result['repaired']}"))
    if arguments.json:
        _print_json(results)
    return 1 if unread or any(result["problems"] for result in results) else 0


# ------------------------------------------------------------------------------------------------------------- helpers


def session_place(session_dir: str | None) -> SessionPlace:
    """Return where the sessions of this folder are, or those in `session_dir`."""
    from piolet.app.options import RuntimeOptions, agent_dir
    from piolet.app.services import early_place

    chosen = session_dir or os.environ.get("PI_CODING_AGENT_SESSION_DIR") or None
    return early_place(RuntimeOptions(Path.cwd(), agent_dir(os.environ), session_dir=chosen))


def _open(arguments: Namespace) -> Session:
    return Session.open(_find(arguments), read_only=True)


def _find(arguments: Namespace, *, copies: bool = True) -> str:
    return _find_in(session_place(arguments.session_dir), arguments.session, copies=copies)


def _find_in(place: SessionPlace, reference: str, *, copies: bool = True) -> str:
    """Return the file that is meant: the newest of `copies` with one id, unless there must be none."""
    if "/" in reference or "\\" in reference or reference.endswith(".jsonl"):
        return os.path.abspath(os.path.expanduser(reference))
    found = place.find_all(reference)
    if not found:
        raise SessionError(f"No session found matching '{reference}'")
    if len({one.id for one in found} if copies else found) > 1:
        paths = ", ".join(one.path for one in found[:_MOST_NAMED]) + (", …" if len(found) > _MOST_NAMED else "")
        raise SessionError(
            f"'{reference}' means {len(found)} sessions; name one by more of its id or its file: {paths}"
        )
    return found[0].path


def _facts(session: Session) -> dict[str, Any]:
    totals = session.totals()
    return {
        "path": session.path,
        "header": session.header,
        "name": session.name,
        "leafId": session.leaf_id,
        "labels": {target: label.text for target, label in session.labels.items()},
        "messages": totals.messages,
        "tokens": totals.tokens,
        "cost": totals.cost,
        "problems": [to_plain(problem) for problem in session.problems],
    }


def _read_infos(paths: Iterable[str], place: SessionPlace | None = None) -> list[SessionInfo]:
    """Return what a list shows of the files, newest first; of a flat `place` only the sessions of its folder."""
    from piolet.harness.session.listing import list_files

    with Progress("Reading sessions") as progress:
        return list_files(progress.each(paths), place.cwd if place is not None and place.flat else None)


def _print_infos(arguments: Namespace, infos: Sequence[SessionInfo], none: str) -> int:
    if arguments.json:
        _print_json([_info_facts(info) for info in infos])
    elif not infos:
        print(none)
    else:
        for info in infos:
            time = datetime.fromtimestamp(info.modified / 1000).strftime("%Y-%m-%d %H:%M")
            id = info.id[:_SHORT_ID] if len(info.id) == 36 else info.id
            print(one_line(f"{id:13}  {time}  {info.message_count:5}  {info.name or info.first_message[:200]}")[:160])
    return 0


def _info_facts(info: SessionInfo) -> dict[str, Any]:
    from piolet.base.ids import iso_time

    facts = {
        "path": info.path,
        "id": info.id,
        "cwd": info.cwd,
        "name": info.name,
        "parentSessionPath": info.parent_session_path,
        "created": iso_time(info.created),
        "modified": iso_time(info.modified),
        "messageCount": info.message_count,
        "firstMessage": info.first_message,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _warn_of_problems(session: Session) -> None:
    if session.problems:
        warn(f"{len(session.problems)} damaged lines; 'piolet sessions verify' tells more")


def _print_result(arguments: Namespace, facts: dict[str, Any], text: str) -> int:
    if arguments.json:
        _print_json(facts)
    else:
        print(one_line(text))
    return 0


def _print_json(value: Any) -> None:
    """Print JSON in which no character can drive a terminal: C1 controls need no escape in JSON, but get one here."""
    print(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", dumps(value)))


def _clean(text: str) -> str:
    """Return text of a session without what could drive the terminal or cannot be printed."""
    return strip_escapes(text).encode("utf-8", "replace").decode()
