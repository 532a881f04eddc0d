"""Make docs/extensions-reference.md from the types that extensions see.

    python scripts/extension_reference.py [--check]

``--check`` only says whether the page is what it would be made.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from reading_types import description, fields, flowing, public_methods, tree_of, wrapped

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "extensions-reference.md"

HEAD = """\
# Extension reference

Made from the types by `scripts/extension_reference.py`; [the guide](extensions.md) tells how they belong together.
Everything here is imported from `piolet.ext`.
"""

#: What handlers are asked, in the order in which it happens; the rest of the page follows the types.
ORDER = (
    *(
        "project_trust",
        "session_start",
        "resources_discover",
        "input",
        "before_agent_start",
        "agent_start",
        "turn_start",
    ),
    *("message_start", "message_update", "message_end", "context", "before_provider_request"),
    *("before_provider_headers", "after_provider_response", "provider_stream_event"),
    *("tool_execution_start", "tool_call", "tool_execution_update", "tool_result", "tool_execution_end"),
    *("turn_end", "agent_end", "agent_before_settle", "agent_settled", "model_select", "thinking_level_select"),
    *("user_bash", "session_info_changed", "session_before_compact", "session_compact", "session_compact_failed"),
    *("session_before_tree", "session_tree", "session_before_switch", "session_before_fork", "session_shutdown"),
    *("ui_prompt_start", "ui_prompt_end"),
)

CLASSES = (
    ("The API: `ExtensionAPI`", "ExtensionAPI"),
    ("Contexts: `ExtensionContext`", "ExtensionContext"),
    ("`ToolContext`", "ToolContext"),
    ("`CommandContext`", "CommandContext"),
    ("`ReplacedSessionContext`", "ReplacedSessionContext"),
    ("`TrustContext`", "TrustContext"),
    ("The user interface: `ctx.ui`", "UI"),
    ("The session: `ctx.session_manager`", "SessionView"),
    ("The models: `ctx.model_registry`", "ModelRegistry"),
    ("`pi.events`", "EventBus"),
    ("Where tools act: `ctx.environment`", "Environment"),
    ("Stopping: `AbortSignal`", "AbortSignal"),
    ("`AbortController`", "AbortController"),
    ("A login: `Login`", "Login"),
    ("Who shows a login: `LoginUI`", "LoginUI"),
    ("An answer as it comes: `AssistantStream`", "AssistantStream"),
    ("What a new session is filled with: `Session`", "Session"),
    ("What is drawn: `Component`", "Component"),
    ("Its colours: `UiTheme`", "UiTheme"),
    ("The screen: `tui`", "Tui"),
    ("What floats over the screen: `OverlayHandle`", "OverlayHandle"),
)
#: Classes that are made, and then handed over: how.
MADE = {
    "Ready components": (
        *("Text", "Markdown", "Box", "Loader", "SelectList", "Item", "SettingsList", "Setting", "Input", "Editor"),
        *("CustomEditor", "Key"),
    ),
    "Overlays and completion": ("OverlayOptions", "CompletionSources", "Suggestion"),
    "Ready environments": (
        *("LocalEnvironment", "MemoryEnvironment", "ShellEnvironment", "SandboxEnvironment", "ContainerEnvironment"),
        "SshEnvironment",
    ),
}
ERRORS = {
    "CompletionFailed": "A model gave no answer to an extension's own request.",
    "StaleContextError": "The object belongs to a session that was replaced or reloaded.",
}
#: Of a class with many concerns only these methods.
ONLY = {"Session": "append_"}


def main() -> int:
    page = make()
    if "--check" in sys.argv[1:]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        return 0 if current == page else 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


def make() -> str:
    """Return the page. Types stand under their public names."""
    import piolet.ext as ext

    parts = [
        HEAD,
        *_events(),
        *(part for title, name in CLASSES for part in _class(title, name)),
        *_made(),
        *_records(),
        *_types(),
        *_errors(),
        *_helpers(),
    ]
    page = "\n".join(parts).rstrip() + "\n"
    for public, (_, own) in ext._PLACES.items():
        if public != own and own[0].isupper():
            page = re.sub(rf"\b{own}\b", public, page)
    return page


# ---- events


def _events() -> Iterator[str]:
    known = dict(_typed_events())
    if set(known) != set(ORDER):
        raise SystemExit(f"ORDER does not have the events: {set(known) ^ set(ORDER)}")
    yield "## Events\n"
    yield "`pi.on(name, handler)`: the handler gets the event and a context; it may be async. In the order of a life:\n"
    for name in ORDER:
        kind, result = known[name]
        yield f"### `{name}`\n"
        yield wrapped(description(_find(kind)))
        told = [text for field, text in _members(_find(kind)) if not _internal(name, field)]
        yield wrapped(f"`{kind}`: {', '.join(f'`{field}`' for field in told) or 'no fields'}.")
        if result == "dict[str, Any]":
            yield "Answer: a mapping.\n"
        elif result is not None:
            answer = _find(result)
            yield wrapped(f"Answer: `{result}({fields(answer, _plain)})`. {description(answer)}")


def _typed_events() -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Name, type of the event, and type of the answer, as ``pi.on`` is typed."""
    source = (ROOT / "src/piolet/app/extensions/on.py").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", source[source.index("class On(Protocol)") :])
    asked = re.findall(r'Literal\["(\w+)"\], handler: Asked\[ ?(\w+), \w+, ([\w\[\], ]+?) ?\], /', text)
    told = re.findall(r'Literal\["(\w+)"\], handler: Told\[ ?(\w+) ?\], /', text)
    yield from ((name, (kind, result)) for name, kind, result in asked)
    yield from ((name, (kind, None)) for name, kind in told)


def _internal(event: str, field: str) -> bool:
    """Whether a field only carries what handlers have answered so far."""
    carried = {"decision", "found", "cancelled", "skip_conversation_restore", "cancel", "compaction", "summary"}
    carried |= {"handled", "block", "changed", "answer", "failure", "replaced_prompt", "appended", "messages", "type"}
    return field in carried and (event, field) not in {("context", "messages"), ("agent_end", "messages")}


# ---- classes


def _class(title: str, name: str) -> Iterator[str]:
    kind = _find(name)
    yield f"## {title}\n"
    yield wrapped(description(kind))
    tree = tree_of(kind)
    fields = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    for field in fields:
        yield f"- `{ast.unparse(field)}`"
    if fields:
        yield ""
    for node in public_methods(tree):
        if not node.name.startswith(ONLY.get(name, "")):
            continue
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        if "overload" in decorators:
            continue
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        if "property" in decorators:
            signature = f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name
        else:
            arguments = re.sub(r"^self(, )?", "", ast.unparse(node.args)).replace("*, ", "*, ")
            prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
            signature = f"{prefix}{node.name}({arguments}){returns}"
        yield f"**`{_plain(signature, kind)}`**\n"
        if text := ast.get_docstring(node):
            yield wrapped(flowing(text))


# ---- what is made, records, types, helpers


def _made() -> Iterator[str]:
    for title, names in MADE.items():
        yield f"## {title}\n"
        for name in names:
            kind = _find(name)
            init = next((node for node in tree_of(kind).body if getattr(node, "name", "") == "__init__"), None)
            taken = fields(kind, _plain) if init is None else re.sub(r"^self(, )?", "", ast.unparse(init.args))
            yield wrapped(f"**`{_plain(f'{name}({taken})', kind)}`** {description(kind)}")


def _types() -> Iterator[str]:
    import piolet.ext as ext

    yield "## Types\n"
    for name in sorted(ext.__all__, key=str.lower):
        if not inspect.isclass(getattr(ext, name)) and (text := _alias(name, ext._PLACES[name][0])):
            yield wrapped(f"**`{name}`**: `{_plain(text, ext._PLACES[name][0])}`")
    yield "**`ToolCallId`**: a `str`; a parameter of a tool that is annotated with it is handed the id of the call.\n"
    yield "**`NO_USAGE`**: the `Usage` of a request that cost nothing.\n"
    kind = _find("StreamFunction")
    (call,) = tree_of(kind).body[1:]
    yield wrapped(f"**`StreamFunction`**: `({ast.unparse(call.args).removeprefix('self, ')})` to `AssistantStream`.")


def _errors() -> Iterator[str]:
    import piolet.ext as ext

    yield "## Errors\n"
    for name in sorted(ext.__all__, key=str.lower):
        kind = getattr(ext, name)
        if inspect.isclass(kind) and issubclass(kind, Exception):
            text = description(kind) or ERRORS[name]
            yield wrapped(f"**`{name}`**: {text}")


def _records() -> Iterator[str]:
    import msgspec

    import piolet.ext as ext

    yield "## Records\n"
    covered = {name for _, (kind, result) in _typed_events() for name in (kind, result)} | {name for _, name in CLASSES}
    for name in sorted(ext.__all__, key=str.lower):
        kind = getattr(ext, name)
        if inspect.isclass(kind) and issubclass(kind, msgspec.Struct) and name not in covered:
            computed = [f"`{text}`" for field, text in _members(kind) if field not in kind.__struct_fields__]
            more = f" It also has {', '.join(computed)}." if computed else ""
            yield wrapped(f"**`{name}({fields(kind, _plain)})`** {description(kind)}{more}")


def _helpers() -> Iterator[str]:
    import piolet.ext as ext

    yield "## Helpers\n"
    for name in sorted(ext.__all__, key=str.lower):
        function = getattr(ext, name)
        if not inspect.isfunction(function) or name.endswith("_tool_definition"):
            continue
        tree = tree_of(function)
        assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
        prefix = "async " if isinstance(tree, ast.AsyncFunctionDef) else ""
        returns = f" -> {ast.unparse(tree.returns)}" if tree.returns else ""
        text = flowing(ast.get_docstring(tree) or "")
        signature = _plain(f"{prefix}{name}({ast.unparse(tree.args)}){returns}", function)
        yield wrapped(f"**`{signature}`** {text}")
    yield wrapped("`create_read_tool_definition` and its siblings are other names of `create_read_tool` and its own.")


# ---- reading the types


def _find(name: str) -> Any:
    import piolet.ext as ext

    if name in ext.__all__:
        return getattr(ext, name)
    raise SystemExit(f"{name} is not in piolet.ext")


def _members(kind: Any) -> Iterator[tuple[str, str]]:
    """The fields of a record with their types, and what it computes."""
    for node in tree_of(kind).body:
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.annotation).startswith("ClassVar"):
            text = f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
            yield ast.unparse(node.target), _plain(text, kind)
        elif isinstance(node, ast.FunctionDef) and node.returns and "property" in map(ast.unparse, node.decorator_list):
            yield node.name, _plain(f"{node.name}: {ast.unparse(node.returns)}", kind)


def _plain(text: str, owner: Any) -> str:
    """Return `text`, of `owner` or the module of that name, with what stands for inner names of types."""
    import piolet.ext as ext

    module = owner if isinstance(owner, str) else owner.__module__

    def plain(match: re.Match[str]) -> str:
        name = match[0]
        if ext._PLACES.get(name, ("",))[0] == module or (alias := _alias(name, module)) is None:
            return name
        return name if name in ext.__all__ and _home(name, module) == ext._PLACES[name][0] else alias

    for _ in range(3):
        text = re.sub(r"\b[A-Z]\w+\b", plain, text)
    return text


@lru_cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(name)))


def _home(name: str, module: str) -> str:
    """Return the module that `module` has a name from."""
    for node in ast.walk(_module(module)):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return _home(name, str(node.module)) if str(node.module).startswith("piolet") else str(node.module)
    return module


def _alias(name: str, module: str) -> str | None:
    """Return what a name of `module` stands for, if it is an alias of a type."""
    home = _home(name, module)
    for node in ast.walk(_module(home)) if home.startswith("piolet") else ():
        if isinstance(node, ast.AnnAssign) and (ast.unparse(node.target), ast.unparse(node.annotation)) == (
            name,
            "TypeAlias",
        ):
            value = node.value
            return str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value) if value else None
    return None


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    importlib.import_module("piolet.ext")
    sys.exit(main())
