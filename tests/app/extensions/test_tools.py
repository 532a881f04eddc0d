"""Tools of extensions: from functions and definitions, replaced, switched, nested, and what happens when they fail."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest

from piolet.agent.function_tools import ToolCallId
from piolet.agent.tools import OnUpdate, ToolResult
from piolet.app.extensions.api import ExtensionAPI
from piolet.app.extensions.contexts import CommandContext, ExtensionContext, ToolContext
from piolet.app.extensions.definitions import ToolDefinition
from piolet.app.extensions.toolkit import create_bash_tool, create_read_tool, with_file_mutation_queue
from piolet.app.options import ToolSelection
from piolet.base.abort import AbortSignal
from piolet.harness.environments.memory import MemoryEnvironment
from piolet.harness.hook_points import ToolCallEvent, ToolCallResult
from piolet.harness.tools.options import ShellSpawn
from piolet.llm.messages import text, text_of
from tests.app.extensions.stage import Stage, stage
from tests.support.scripted_model import call, says
from tests.support.timing import until


def results(made: Stage) -> list[str]:
    return [line.removeprefix("toolResult: ") for line in made.stored() if line.startswith("toolResult")]


def offered(made: Stage, request: int = -1) -> list[str]:
    return [tool.name for tool in made.model.requests[request].context.tools]


async def test_a_typed_function_is_a_tool(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.tool(label="Greet", prompt_snippet="greets people")
        async def greet(
            who: Annotated[str, "whom"],
            ctx: ToolContext,
            id: ToolCallId,
            signal: AbortSignal,
            update: OnUpdate,
            n: int = 1,
        ) -> str:
            """Greets somebody."""
            update(ToolResult.of_text("half"))
            await asyncio.sleep(0.02)
            assert ctx.signal is signal
            assert not signal.aborted
            assert [tool.name for tool in ctx.tools][-1] == "greet"
            return f"hello {who} {n} {id} {Path(ctx.cwd).name}"

    async with stage(
        tmp_path, says(call("greet", id="c9", who="Ada", n="2")), says("Done."), factories=[extension]
    ) as made:
        await made.prompt("go")
        assert results(made) == ["hello Ada 2 c9 work"]
        (spec,) = [tool for tool in made.model.requests[0].context.tools if tool.name == "greet"]
        assert spec.description == "Greets somebody."
        assert list(spec.parameters["properties"]) == ["who", "n"]
        assert "greets people" in (made.model.requests[0].context.system_prompt or "")
        assert "tool_execution_update" in [event.type for event in made.events]


async def test_a_definition_is_a_tool_and_its_output_is_held_to_its_schema(tmp_path: Path) -> None:
    async def execute(id: str, args: dict[str, Any], signal: AbortSignal, update: Any, ctx: ToolContext) -> ToolResult:
        result = ToolResult([text("done")], details={"args": args}, terminate=True)
        result.structured_content = {"count": args["count"]} if args["count"] else {"other": 1}
        return result

    def extension(pi: ExtensionAPI) -> None:
        defined = pi.register_tool(
            ToolDefinition(
                name="count",
                description="Counts.",
                parameters={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
                execute=execute,
                output_schema={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
            ),
            label="Count!",
        )
        assert defined.label == "Count!"

    async with stage(tmp_path, says(call("count", count=3)), factories=[extension]) as made:
        await made.prompt("go")
        assert results(made) == ["done"]
        assert len(made.model.requests) == 1
    async with stage(tmp_path, says(call("count", count=0)), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert "output_schema" in results(made)[0]


async def test_what_a_tool_raises_is_an_error_result_and_bad_arguments_never_reach_it(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        def fragile(number: int) -> str:
            """Breaks."""
            raise ValueError(f"no {number}")

    replies = says(call("fragile", number=7)), says(call("fragile", number="many")), says("Done.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("go")
        first, second = results(made)
        assert first == "no 7"
        assert "number" in second
        assert "many" in second
        assert made.failures == []


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ToolResult(["plain"]), "ToolResult.content[0] must be TextContent or ImageContent, not str"),  # type: ignore[list-item]
        (ToolResult([text(5)]), "ToolResult.content[0].text must be str, not int"),  # type: ignore[arg-type]
        (ToolResult([], details={"at": object()}), "ToolResult.details must be JSON: object has no JSON"),
        (ToolResult([], structured_content=object()), "ToolResult.structured_content must be JSON"),
        (ToolResult([], usage=5), "ToolResult.usage must be Usage, not int"),  # type: ignore[arg-type]
    ],
)
async def test_a_result_that_cannot_be_stored_is_an_error_result(tmp_path: Path, result: ToolResult, told: str) -> None:
    refused: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        async def odd(on_update: OnUpdate) -> ToolResult:
            """Is odd."""
            try:
                on_update(result)
            except TypeError as error:
                refused.append(str(error))
            return result

    async with stage(tmp_path, says(call("odd")), says("Done."), factories=[extension]) as made:
        await made.prompt("go")
        assert results(made)[0].startswith(told)
        assert [text.startswith(told) for text in refused] == [True]
        assert made.stored()[-1] == "assistant: Done."
        assert made.failures == []


async def test_a_tool_with_the_name_of_a_built_in_one_replaces_it(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        read = create_read_tool(MemoryEnvironment({"/work/a.txt": b"from memory"}))
        pi.register_tool(read, prompt_guidelines=["Read from memory"])
        spawned: list[str] = []

        def hook(spawn: ShellSpawn) -> ShellSpawn:
            spawned.append(spawn.command)
            return ShellSpawn(f"echo hooked; {spawn.command}", spawn.cwd, spawn.env)

        @pi.on("session_start")
        def own_bash(event: Any, ctx: ExtensionContext) -> None:
            pi.register_tool(create_bash_tool(ctx.environment, spawn_hook=hook))

    replies = says(call("read", path="a.txt"), call("bash", id="c2", command="echo hi")), says("Done.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("go")
        assert results(made)[0].startswith("from memory")
        assert results(made)[1].startswith("hooked\nhi")
        assert offered(made) == ["read", "bash", "edit", "write"]
        assert "Read from memory" in (made.model.requests[0].context.system_prompt or "")


async def test_tools_come_and_go_at_run_time(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.tool(default_active=False)
        def sleeper() -> str:
            """Sleeps."""
            return "awake"

        @pi.tool
        def learn() -> str:
            """Learns another tool."""

            @pi.tool
            def learned() -> str:
                """Was learned."""
                return "new"

            pi.set_active_tools([*pi.get_active_tools(), "sleeper", "no such tool"])
            return ", ".join(pi.get_active_tools())

    replies = says(call("learn")), says(call("learned"), call("sleeper", id="c2")), says("Done.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        await made.prompt("go")
        assert "sleeper" not in offered(made, 0)
        assert offered(made, 1)[-2:] == ["learned", "sleeper"]
        assert results(made)[1:] == ["new", "awake"]
        infos = {tool.name: tool for tool in made.runtime.extensions.tool_infos()}
        assert infos["grep"].active is False
        assert infos["read"].source is None
        assert infos["learned"].source is not None


async def test_the_user_rules_tools_out_whatever_extensions_want(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        def alpha() -> str:
            """A."""
            return "a"

        @pi.on("session_start")
        def more(event: Any, ctx: ExtensionContext) -> None:
            pi.register_tool(alpha, name="beta")
            pi.set_active_tools(["read", "bash", "alpha", "beta"])

    for selection, names in (
        (ToolSelection(), ["read", "bash", "alpha", "beta"]),
        (ToolSelection(only=["read", "al*"]), ["read", "alpha"]),
        (ToolSelection(exclude=["b*"]), ["read", "alpha"]),
        (ToolSelection(none=True), []),
    ):
        async with stage(tmp_path, says("Done."), factories=[extension], tools=selection) as made:
            await made.prompt("go")
            assert offered(made) == names

    def quiet(pi: ExtensionAPI) -> None:
        @pi.tool
        def alpha() -> str:
            """A."""
            return "a"

    for selection, names in (
        (ToolSelection(builtin=False), ["alpha"]),
        (ToolSelection(only=["-read", "+grep"]), ["bash", "edit", "write", "alpha", "grep"]),
    ):
        async with stage(tmp_path, says("Done."), factories=[quiet], tools=selection) as made:
            await made.prompt("go")
            assert offered(made) == names


async def test_a_tool_calls_another_with_all_hooks(tmp_path: Path) -> None:
    parents: list[tuple[str, str | None]] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        async def twice(ctx: ToolContext) -> str:
            """Reads twice."""
            good = await ctx.execute_tool("read", {"path": "a.txt"})
            bad = await ctx.execute_tool("read", {"path": "forbidden.txt"})
            return f"{text_of(good.content)}|{text_of(bad.content)}|{bad.is_error}"

        @pi.on("tool_call")
        def guard(event: ToolCallEvent, ctx: ExtensionContext) -> ToolCallResult | None:
            parents.append((event.tool_name, event.parent_tool_call_id))
            return ToolCallResult(True, "not this one") if "forbidden" in str(event.input) else None

    async with stage(tmp_path, says(call("twice", id="c5")), says("Done."), factories=[extension]) as made:
        (tmp_path / "work" / "a.txt").write_text("content")
        await made.prompt("go")
        assert results(made) == ["content|not this one|True"]
        assert parents == [("twice", None), ("read", "c5"), ("read", "c5")]


async def test_an_abort_reaches_the_tool_which_has_two_seconds(tmp_path: Path) -> None:
    seen: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        async def slow(signal: AbortSignal) -> str:
            """Waits."""
            await signal.wait()
            seen.append("aborted")
            return "stopped in order"

        pi.on("tool_execution_start", lambda event, ctx: ctx.abort())

    async with stage(tmp_path, says(call("slow")), factories=[extension]) as made:
        await made.prompt("go")
        assert seen in (["aborted"], [])
        assert any(line.startswith("toolResult") for line in made.stored())


async def test_changes_of_one_file_take_turns_also_with_built_in_tools(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.tool
        async def slow_append(ctx: ToolContext) -> str:
            """Appends slowly."""

            async def change() -> None:
                path = Path(ctx.cwd) / "a.txt"
                before = path.read_text()
                await asyncio.sleep(0.05)
                path.write_text(before + "appended\n")

            await with_file_mutation_queue(ctx.environment, "a.txt", change)
            return "ok"

    edit = {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}
    replies = says(call("slow_append"), call("edit", id="c2", **edit)), says("Done.")
    async with stage(tmp_path, *replies, factories=[extension]) as made:
        (tmp_path / "work" / "a.txt").write_text("one\n")
        await made.prompt("go")
        assert (tmp_path / "work" / "a.txt").read_text() == "two\nappended\n"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda pi: pi.register_tool(3),
        lambda pi: pi.register_tool(lambda *args: ""),
        lambda pi: pi.register_tool(create_read_tool(MemoryEnvironment()), colour="red"),
        lambda pi: pi.register_command("two words", print),
        lambda pi: pi.register_flag("two words", type="string"),
        lambda pi: pi.register_flag("number", type="integer"),
        lambda pi: pi.on("agent_start", "a word"),
    ],
)
async def test_what_cannot_be_registered_keeps_the_extension_out(tmp_path: Path, wrong: Any) -> None:
    async with stage(tmp_path, factories=[wrong]) as made:
        assert [event for _, event, _ in made.faults] == ["load"]
        assert len(made.runtime.extensions.extensions) == 1


async def test_commands_run_during_a_run_and_get_their_text_raw(tmp_path: Path) -> None:
    got: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("note")
        async def note(args: str, ctx: CommandContext) -> None:
            """Takes a note.

            At length.
            """
            got.append(args)
            assert not ctx.is_idle() or args == "  x  y "

        pi.register_command("boom", lambda args, ctx: 1 / 0)

    async with stage(tmp_path, says("One.", delay=1.5), factories=[extension]) as made:
        await made.prompt("/note   x  y ")
        run = asyncio.create_task(made.prompt("go"))
        await until(lambda: made.model.requests)
        await made.runtime.session.prompt("/note during")
        await run
        await made.prompt("/boom")
        assert got == ["  x  y ", "during"]
        assert [(event, text) for _, event, text in made.faults] == [("command:boom", "division by zero")]
        (command, _) = made.runtime.session.commands.list()
        assert (command.name, command.description, command.source) == ("note", "Takes a note.", "extension")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lable": "x"}, "ToolDefinition has no lable"),
        ({"execution_mode": "paralel"}, "execution_mode of the tool 'f' must be one of 'parallel', 'sequential'"),
        ({"prompt_guidelines": "one"}, "prompt_guidelines of the tool 'f' must be a list, not str"),
        ({"default_active": "no"}, "default_active of the tool 'f' must be bool, not str"),
        ({"description": None}, "description of the tool 'f' must be str, not NoneType"),
        ({"parameters": {"type": "string"}}, "parameters that are a JSON Schema of type object"),
        ({"render_result": "x"}, "render_result of the tool 'f' must be a function, not str"),
        ({"constrained_sampling": {"type": "grammar", "grammar": "x"}}, "constrained_sampling of the tool 'f' must be"),
        ({"constrained_sampling": "grammar"}, "constrained_sampling of the tool 'f' must be"),
    ],
)
async def test_a_field_that_no_tool_can_have_is_told_when_the_tool_is_registered(
    tmp_path: Path, wrong: dict[str, Any], told: str
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        def f(x: str) -> str:
            """Does."""
            return x

        with pytest.raises(TypeError) as refused:
            pi.register_tool(f, **wrong)
        assert told in str(refused.value)
        pi.register_tool(f, constrained_sampling={"type": "json_schema", "strict": "prefer"})

    async with stage(tmp_path, factories=[extension]) as made:
        assert made.failures == []
