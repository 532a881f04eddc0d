from __future__ import annotations

from typing import Any

import pytest

from piolet.app.renderers.tree_rows import tool_text, tree_nodes
from piolet.harness.messages import BashExecutionMessage
from piolet.harness.session.session import Session
from piolet.llm.messages import NO_USAGE, AssistantMessage, TextContent, ToolCall, ToolResultMessage, UserMessage
from piolet.tui.spans import line_text
from piolet.tui.tree_view import TreeView


def answer(*blocks: Any, stop: Any = "stop", error: str | None = None) -> AssistantMessage:
    return AssistantMessage(list(blocks), "api", "stub", "m1", NO_USAGE, stop, 1, error_message=error)


def test_a_session_becomes_a_tree_of_rows() -> None:
    session = Session.in_memory("/w")
    session.append_message(UserMessage("first\nquestion", 1))
    call = ToolCall("c1", "read", {"path": "a.py", "offset": 2, "limit": 3})
    fork = session.append_message(answer(call, stop="toolUse"))
    session.append_message(ToolResultMessage("c1", "read", [TextContent("x")], False, 1))
    session.append_message(answer(TextContent("done")))
    session.branch(fork)
    session.append_message(BashExecutionMessage("ls", "o", False, False, 1, 0))
    session.append_message(answer(stop="aborted"))
    session.append_message(answer(stop="error", error="overloaded " * 20))
    leaf = session.append_custom_message("note", "custom text", True)
    session.append_label(leaf, "mine")
    nodes = tree_nodes(session)
    view = TreeView(nodes, leaf)
    assert [line_text(line).rstrip() for line in view.lines(110, 50)] == [
        "  • user: first question",
        "  ├⊟ • [bash]: ls",
        "  │     • assistant: (aborted)",
        f"  │     • assistant: {('overloaded ' * 20)[:80].strip()}",
        "› │     • [mine] [note]: custom text",
        "  └⊟ [read: a.py:2-4]",
        "        assistant: done",
    ]
    assert {node.text for node in nodes if node.kind == "bookkeeping"} == {"[label: mine]"}


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("read", {"path": "p"}, "[read: p]"),
        ("read", {"path": "p", "limit": 9}, "[read: p:1-9]"),
        ("bash", {"command": "echo\n" + "x" * 60}, f"[bash: echo {'x' * 45}...]"),
        ("edit", {"path": "p"}, "[edit: p]"),
        ("grep", {"pattern": "x"}, "[grep: /x/ in .]"),
        ("find", {"pattern": "*.py", "path": "src"}, "[find: *.py in src]"),
        ("ls", {}, "[ls: .]"),
        ("mail", {"to": "a" * 60}, f'[mail: {{"to": "{"a" * 32}…]'),
    ],
)
def test_a_result_shows_the_argument_that_tells_most(name: str, arguments: dict[str, Any], text: str) -> None:
    assert tool_text(name, arguments) == text
