"""Make docs/sdk/reference.md from the types and docstrings that embedders see.

    python scripts/sdk_reference.py [--check]

``--check`` only says whether the page is what it would be made.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from reading_types import description, entry, fields, flowing, function_entry, public_methods, tree_of, wrapped

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sdk" / "reference.md"

HEAD = """\
# SDK reference

Made from the types and docstrings by `scripts/sdk_reference.py`; [the guide](guide.md) tells how they belong together.
"""

#: Module, title, and the names to show first, in this order; those that are left follow by the alphabet.
MODULES: Sequence[tuple[str, str, Sequence[str]]] = (
    ("piolet.harness", "The harness", ["AgentHarness", "RunResult", "PromptParts", "Session", "Hooks"]),
    ("piolet.harness.session.sql", "Sessions in a database", ["SqlSessions"]),
    ("piolet.agent", "Tools and the loop", ["AgentTool", "ToolResult", "tool_from_function"]),
    ("piolet.llm", "Models and messages", ["Models", "Model", "AssistantStream"]),
    ("piolet.app", "The product", ["RuntimeOptions", "Runtime", "AgentSession"]),
    ("piolet", "The package", ["create_runtime"]),
)


def main() -> int:
    page = "\n".join([HEAD, *(part for module in MODULES for part in _module(*module))]).rstrip() + "\n"
    if "--check" in sys.argv[1:]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        return 0 if current == page else 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


def _module(path: str, title: str, first: Sequence[str]) -> Iterator[str]:
    module = import_module(path)
    names = [name for name in getattr(module, "__all__", first) if not name.startswith("__")]
    rest = sorted((name for name in names if name not in first), key=str.lower)
    things = {name: getattr(module, name) for name in (*first, *rest)}
    classes = [name for name, thing in things.items() if inspect.isclass(thing) and not _is_error(thing)]
    yield f"## {title}: `{path}`\n"
    for name in classes:
        if _is_main(things[name]):
            yield from _class(name, things[name])
    hooks = [name for name, thing in things.items() if type(thing).__name__ == "Hook"]
    yield from _group("Hooks", (_hook(name, path) for name in hooks))
    yield from _group("Records", (_record(name, things[name]) for name in classes if not _is_main(things[name])))
    functions = [name for name, thing in things.items() if inspect.isfunction(thing)]
    yield from _group("Functions", (function_entry(name, things[name]) for name in functions))
    errors = [name for name, thing in things.items() if inspect.isclass(thing) and _is_error(thing)]
    shown = {*classes, *functions, *hooks, *errors}
    yield from _group("Types", (_alias(name, path) for name in things if name not in shown))
    yield from _group("Errors", (_error(name, things[name]) for name in errors))


def _group(title: str, parts: Iterator[str]) -> Iterator[str]:
    found = list(parts)
    if found:
        yield f"### {title}\n"
        yield from found


def _is_error(thing: type) -> bool:
    return issubclass(thing, BaseException)


def _is_main(kind: type) -> bool:
    """Whether a class has a life, or is to be implemented; records and messages have not."""
    import msgspec

    return not issubclass(kind, msgspec.Struct)


def _class(name: str, kind: Any) -> Iterator[str]:
    tree = tree_of(kind)
    constructor = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    yield f"### `{name}`\n"
    if constructor:
        arguments = re.sub(r"^self(, )?", "", ast.unparse(constructor[0].args))
        yield f"**`{name}({arguments})`**\n"
    text = description(kind)
    if text.startswith("See the module."):
        whole = inspect.getdoc(inspect.getmodule(kind)) or ""
        text = f"{flowing(whole)}\n\n{text.removeprefix('See the module.').strip()}"
    if text:
        yield wrapped(text)
    for node in public_methods(tree):
        if ast.get_docstring(node) or _is_protocol(kind) or node.name not in _told_by_protocols():
            yield from entry(node)


def _is_protocol(kind: Any) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


@cache
def _told_by_protocols() -> frozenset[str]:
    """What classes have because a protocol says so; it is told there."""
    module = import_module("piolet.harness")
    kinds = [getattr(module, name) for name in module.__all__]
    return frozenset(node.name for kind in kinds if _is_protocol(kind) for node in public_methods(tree_of(kind)))


def _record(name: str, kind: Any) -> str:
    text = wrapped(f"**`{name}({fields(kind)})`** {description(kind)}")
    more = [part for node in public_methods(tree_of(kind)) for part in entry(node)]
    return "\n".join([text, *more])


def _error(name: str, kind: Any) -> str:
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
    return wrapped(f"**`{name}`** ({bases}) {description(kind)}")


def _hook(name: str, path: str) -> str:
    """A hook: what its handlers get, and what they may answer."""
    for module in (sys.modules[place] for place in _modules_of(path)):
        found = re.search(rf"^{name}: Hook\[(\w+), (.+)\] = Hook\(", inspect.getsource(module), re.MULTILINE)
        if found:
            answer = "nothing" if found[2] == "None" else f"`{found[2]}`"
            event = getattr(module, found[1])
            known = "" if found[1] in import_module(path).__all__ else f" `{found[1]}({fields(event)})`:"
            return wrapped(f"**`{name}`** gets `{found[1]}`, may answer {answer}.{known} {description(event)}")
    raise SystemExit(f"{name} is declared in no module of {path}")


def _alias(name: str, path: str) -> str:
    for module in (sys.modules[place] for place in _modules_of(path)):
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value:
                return wrapped(f"**`{name}`** = `{ast.unparse(node.value)}`")
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return wrapped(f"**`{name}`** = `{ast.unparse(node.value)}`")
    raise SystemExit(f"{name} is declared in no module of {path}")


def _modules_of(path: str) -> list[str]:
    return [place for place in sys.modules if place.startswith(f"{path}.")]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main())
