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
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
)


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
        *_records(),
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
        yield _wrapped(_description(_find(kind)))
        fields = [text for field, text in _members(_find(kind)) if not _internal(name, field)]
        yield _wrapped(f"`{kind}`: {', '.join(f'`{field}`' for field in fields) or 'no fields'}.")
        if result == "dict[str, Any]":
            yield "Answer: a mapping.\n"
        elif result is not None:
            answer = _find(result)
            yield _wrapped(f"Answer: `{result}({_fields(answer)})`. {_description(answer)}")


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
    yield _wrapped(_description(kind))
    tree = _tree(kind)
    fields = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    for field in fields:
        yield f"- `{ast.unparse(field)}`"
    if fields:
        yield ""
    for node in _methods(tree):
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
        yield f"**`{signature}`**\n"
        if text := ast.get_docstring(node):
            yield _wrapped(_flowing(text))


def _methods(tree: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.If):  # typed one way, written another
            yield from (each for each in node.orelse if isinstance(each, ast.FunctionDef))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node


# ---- records and helpers


def _records() -> Iterator[str]:
    import msgspec

    import piolet.ext as ext

    yield "## Records\n"
    covered = {name for _, (kind, result) in _typed_events() for name in (kind, result)} | {name for _, name in CLASSES}
    for name in sorted(ext.__all__, key=str.lower):
        kind = getattr(ext, name)
        if inspect.isclass(kind) and issubclass(kind, msgspec.Struct) and name not in covered:
            yield _wrapped(f"**`{name}({_fields(kind)})`** {_description(kind)}")


def _helpers() -> Iterator[str]:
    import piolet.ext as ext

    yield "## Helpers\n"
    for name in sorted(ext.__all__, key=str.lower):
        function = getattr(ext, name)
        if not inspect.isfunction(function):
            continue
        tree = _tree(function)
        assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
        prefix = "async " if isinstance(tree, ast.AsyncFunctionDef) else ""
        returns = f" -> {ast.unparse(tree.returns)}" if tree.returns else ""
        text = _flowing(ast.get_docstring(tree) or "")
        yield _wrapped(f"**`{prefix}{name}({ast.unparse(tree.args)}){returns}`** {text}")


# ---- reading the types


def _find(name: str) -> Any:
    import piolet.ext as ext

    if name in ext.__all__:
        return getattr(ext, name)
    raise SystemExit(f"{name} is not in piolet.ext")


def _tree(thing: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def _members(kind: Any) -> Iterator[tuple[str, str]]:
    """The fields of a record with their types, and what it computes."""
    for node in _tree(kind).body:
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.annotation).startswith("ClassVar"):
            yield ast.unparse(node.target), f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
        elif isinstance(node, ast.FunctionDef) and node.returns and "property" in map(ast.unparse, node.decorator_list):
            yield node.name, f"{node.name}: {ast.unparse(node.returns)}"


def _fields(kind: Any) -> str:
    parts = []
    for node in _tree(kind).body:
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.annotation).startswith("ClassVar"):
            default = (
                ""
                if node.value is None
                else " = …"
                if "field(" in ast.unparse(node.value)
                else f" = {ast.unparse(node.value)}"
            )
            parts.append(f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}{default}")
    return ", ".join(parts)


def _description(kind: Any) -> str:
    own = _tree(kind)
    return _flowing(ast.get_docstring(own) or "")


def _wrapped(text: str) -> str:
    """Return paragraphs in lines as wide as those of the other pages; nothing inside of backquotes is broken apart."""
    parts = []
    for part in text.split("\n\n"):
        words = re.findall(r"(?:`[^`]*`|\S)+", part)
        lines = [""]
        for word in words:
            if lines[-1] and len(lines[-1]) + len(word) >= 120:
                lines.append("")
            lines[-1] += f" {word}" if lines[-1] else word
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _flowing(text: str) -> str:
    """Return a docstring with each paragraph on one line, its marks as those of Markdown."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    importlib.import_module("piolet.ext")
    sys.exit(main())
