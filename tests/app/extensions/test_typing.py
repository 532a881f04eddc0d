"""Extensions are checked by mypy as authors run it: what is right passes, what is wrong is told at its line."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import piolet.ext
from piolet.app.extensions.definitions import ToolFields
from piolet.app.extensions.events import ANSWERED, OBSERVED
from piolet.app.extensions.results import RESULTS

ROOT = Path(__file__).parents[3]

RIGHT = '''
from __future__ import annotations

from typing import Annotated

from piolet.ext import (
    BeforeAgentStart,
    Boundary,
    CommandContext,
    CompactDecision,
    BeforeCompact,
    CompactionResult,
    CustomMessageDraft,
    ExtensionAPI,
    ExtensionContext,
    InputEvent,
    InputResult,
    SessionStart,
    StartResult,
    ToolCallEvent,
    ToolCallResult,
    ToolContext,
    ToolResult,
    TrustContext,
    ProjectTrustEvent,
    TrustDecision,
    TurnEndEvent,
    conversation_text,
    text,
)


def extension(pi: ExtensionAPI) -> None:
    @pi.on("before_agent_start")
    async def add_status(event: BeforeAgentStart, ctx: ExtensionContext) -> StartResult | None:
        r = await pi.exec("git", ["status", "--short"], cwd=ctx.cwd, timeout=3)
        return StartResult(message=CustomMessageDraft("git", r.stdout, display=False)) if r.code == 0 else None

    @pi.on("tool_call")
    def gate(event: ToolCallEvent, ctx: ExtensionContext) -> ToolCallResult | None:
        event.input["path"] = "x"
        return ToolCallResult(block=True, reason=event.tool_name) if ctx.has_ui else None

    pi.on("tool_call", gate)
    pi.on("input", lambda event, ctx: InputResult("transform", text=event.text.upper()))
    pi.on("input", lambda event, ctx: {"action": "handled"})
    pi.on("session_start", lambda event, ctx: ctx.ui.notify(event.reason))
    off = pi.on("turn_end", turned)
    off()

    @pi.on("session_before_compact")
    async def compact(event: BeforeCompact, ctx: ExtensionContext) -> CompactDecision:
        model = ctx.model_registry.find("a", "b")
        assert model is not None
        ask = conversation_text([*event.preparation.messages_to_summarize, *event.preparation.turn_prefix_messages])
        reply = await ctx.model_registry.complete(model, ask, signal=event.signal)
        return CompactDecision(compaction=CompactionResult(reply.text, event.preparation.first_kept_entry_id, 1))

    @pi.on("project_trust")
    def trust(event: ProjectTrustEvent, ctx: TrustContext) -> TrustDecision:
        return TrustDecision("yes" if ctx.cwd == event.cwd else "no")

    @pi.tool(label="Todo", execution_mode="sequential")
    async def todo(action: Annotated[str, "what"], ctx: ToolContext) -> ToolResult:
        """Keep a list."""
        ctx.ui.set_status("todo", action)
        return ToolResult([text(action)], details={"items": []})

    @pi.tool
    def plain(x: int) -> str:
        """Plain."""
        return str(x)

    @pi.command("standup", complete=lambda prefix: [day for day in ("today", "week") if day.startswith(prefix)])
    async def standup(args: str, ctx: CommandContext) -> None:
        await ctx.wait_for_idle()
        pi.append_entry("standup", {"span": args})
        pi.send_user_message("x", deliver_as="steer")
        pi.send_message(CustomMessageDraft("a", "b"), deliver_as="next_turn", trigger_turn=True)
        pi.spawn(work(), name="work")

    def begin(event: SessionStart, ctx: ExtensionContext) -> None: ...

    pi.on("session_start", begin)


async def work() -> int:
    return 1


async def turned(event: TurnEndEvent, ctx: ExtensionContext) -> Boundary | None:
    return Boundary(continue_=True) if event.outcome == "error" else None


def other(event: InputEvent, ctx: ExtensionContext) -> InputResult | None:
    return None
'''

WRONG = """
from __future__ import annotations

from piolet.ext import ExtensionAPI, ExtensionContext, InputEvent, InputResult, SessionStart, StartResult, ToolCallEvent


def takes_input(event: InputEvent, ctx: ExtensionContext) -> InputResult | None:
    return None


def gives_number(event: ToolCallEvent, ctx: ExtensionContext) -> int:
    return 3


async def gives_start(event: ToolCallEvent, ctx: ExtensionContext) -> StartResult:
    return StartResult()


def extension(pi: ExtensionAPI) -> None:
    pi.on("tool_call", takes_input)  # wrong
    pi.on("tool_call", gives_number)  # wrong
    pi.on("tool_call", gives_start)  # wrong
    pi.on("no_such_event", takes_input)  # wrong
    pi.on("input", takes_input)

    @pi.on("session_start")  # wrong
    def started(event: ToolCallEvent, ctx: ExtensionContext) -> None: ...

    @pi.on("session_start")
    def begun(event: SessionStart, ctx: ExtensionContext) -> None: ...

    pi.on("input", lambda event, ctx: event.txt)  # wrong
    pi.send_message("text")  # wrong
    pi.send_user_message("x", deliver_as="later")  # wrong
    pi.register_flag("x", type="number")  # wrong
    pi.nothing()  # wrong
    pi.tool(execution_mode="later")  # wrong
    pi.register_tool(takes_input, lable="x")  # wrong
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[int]]:
    """The lines that mypy complains of, by file."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "right.py").write_text(RIGHT, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    paths = [str(folder / "right.py"), str(folder / "wrong.py")]
    done = subprocess.run([*command, *config, *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    lines: dict[str, set[int]] = {"right.py": set(), "wrong.py": set()}
    for name, number in re.findall(r"(\w+\.py):(\d+): error", done.stdout):
        lines[name].add(int(number))
    assert done.returncode in (0, 1), done.stderr
    assert not lines["right.py"], done.stdout
    return lines


def test_an_extension_passes_strict_checks(told: dict[str, set[int]]) -> None:
    assert told["right.py"] == set()


def test_a_wrong_handler_is_rejected_where_it_is_registered(told: dict[str, set[int]]) -> None:
    marked = {number for number, line in enumerate(WRONG.split("\n"), 1) if "# wrong" in line}
    assert told["wrong.py"] == marked


def test_the_fields_of_a_tool_are_typed_as_options_too() -> None:
    assert list(ToolFields.__annotations__) == list(piolet.ext.ToolDefinition.__struct_fields__)
    own = [piolet.ext.ToolDefinition.__annotations__[name] for name in ToolFields.__annotations__]
    assert [kind.__forward_arg__ for kind in ToolFields.__annotations__.values()] == own


def test_every_event_can_be_asked_for_by_type_and_no_other() -> None:
    source = ast.parse((ROOT / "src/piolet/app/extensions/on.py").read_text(encoding="utf-8"))
    (protocol,) = [node for node in source.body if isinstance(node, ast.ClassDef) and node.name == "On"]
    typed = re.findall(r"Literal\['(\w+)'\]", ast.unparse(protocol))
    assert set(typed) == OBSERVED | ANSWERED
    assert len(typed) == 2 * len(OBSERVED | ANSWERED)
    text = ast.unparse(protocol)
    for event, kind in RESULTS.items():
        (found,) = set(re.findall(rf"Literal\['{event}'\], handler: Asked\[\w+, \w+, (\w+)\]", text))
        assert found == kind.__name__


def test_the_public_face_names_the_same_for_checkers_and_at_run_time() -> None:
    tree = ast.parse((ROOT / "src/piolet/ext.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        alias.name: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    renamed = [ast.unparse(node).split(" = ") for node in block.body if isinstance(node, ast.Assign)]
    declared = imported | {public: imported[own] for public, own in renamed}
    own_only = {own for _, own in renamed} - piolet.ext._PLACES.keys()
    assert {name: place for name, place in declared.items() if name not in own_only} == piolet.ext._PLACES
    assert sorted(piolet.ext.__all__) == dir(piolet.ext)
    for name in piolet.ext.__all__:
        assert getattr(piolet.ext, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        piolet.ext.nothing_like_it  # noqa: B018
    assert inspect.isclass(piolet.ext.ExtensionAPI)
