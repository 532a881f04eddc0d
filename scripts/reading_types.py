"""What pages made from the types need: signatures and docstrings as Markdown."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any


def tree_of(thing: Any) -> Any:
    """Return the definition of a class or function."""
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def fields(kind: Any, shown: Callable[[str, Any], str] = lambda text, owner: text) -> str:
    """The fields of a record, those of its bases too, as its constructor takes them.

    ``shown(text, owner)``: a field as the page has it, of the class that defines it.
    """
    parts: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if owner.__module__.split(".")[0] != "piolet":
            continue
        for node in tree_of(owner).body:
            if isinstance(node, ast.AnnAssign) and not ast.unparse(node.annotation).startswith("ClassVar"):
                value = "" if node.value is None else ast.unparse(node.value)
                default = " = …" if "field(" in value else f" = {value}" if value else ""
                name = ast.unparse(node.target)
                parts[name] = shown(f"{name}: {ast.unparse(node.annotation)}{default}", owner)
    order = getattr(kind, "__struct_fields__", tuple(parts))
    return ", ".join(parts[name] for name in order if name in parts)


def public_methods(tree: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The methods and properties of a class that are not its own business, each once."""
    for node in tree.body:
        if isinstance(node, ast.If):  # typed one way, written another
            yield from (each for each in node.orelse if isinstance(each, ast.FunctionDef))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node


def entry(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """A method or property: its signature, and its docstring."""
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    if "overload" in decorators or any(decorator.endswith(".setter") for decorator in decorators):
        return
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if "property" in decorators:
        signature = f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name
    else:
        arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(node.args))
        prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        prefix = "classmethod " if "classmethod" in decorators else prefix
        signature = f"{prefix}{node.name}({arguments}){returns}"
    yield f"**`{signature}`**\n"
    if text := ast.get_docstring(node):
        yield wrapped(flowing(text))


def function_entry(name: str, function: Any) -> str:
    """A function: its signature and docstring in a paragraph."""
    tree = tree_of(function)
    prefix = "async " if isinstance(tree, ast.AsyncFunctionDef) else ""
    returns = f" -> {ast.unparse(tree.returns)}" if tree.returns else ""
    text = flowing(ast.get_docstring(tree) or "")
    return wrapped(f"**`{prefix}{name}({ast.unparse(tree.args)}){returns}`** {text}")


def description(kind: Any) -> str:
    return flowing(ast.get_docstring(tree_of(kind)) or "")


def wrapped(text: str) -> str:
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


def flowing(text: str) -> str:
    """Return a docstring with each paragraph on one line, its marks as those of Markdown."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))
