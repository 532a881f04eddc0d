"""Tools from typed functions (extensions specification, section 4)."""

from __future__ import annotations

import asyncio
import enum
import threading
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from msgspec import Meta

from piolet.agent.arguments import InvalidArguments, prepare
from piolet.agent.function_tools import ToolCallId, tool_from_function
from piolet.agent.tools import AgentTool, OnUpdate, ToolResult
from piolet.base.abort import AbortController, AbortSignal
from piolet.llm.messages import TextContent, ToolCall


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Node:
    name: str
    children: list[Node]


class Options(TypedDict):
    depth: int
    label: NotRequired[str]


class Context:
    def __init__(self, call: str) -> None:
        self.call = call


async def call(tool: AgentTool, **arguments: Any) -> ToolResult:
    prepared = prepare(tool, ToolCall("id-1", tool.name, arguments))
    return await tool.execute("id-1", prepared, AbortController().signal, lambda update: None)


def text(result: ToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def weather(city: str, days: Annotated[int, "How many days"] = 3, exact: bool = False) -> str:
    """Tell the weather.

    A second paragraph.

    Args:
        city: Where, as
            people call it.
        days (int): not used, the annotation wins.

    Returns:
        A text.
    """
    return f"{city} {days} {exact}"


def test_name_docstring_and_annotations_become_the_schema() -> None:
    tool = tool_from_function(weather)
    assert (tool.name, tool.description) == ("weather", "Tell the weather.\n\nA second paragraph.")
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where, as people call it."},
            "days": {"type": "integer", "description": "How many days", "default": 3},
            "exact": {"type": "boolean", "default": False},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


async def test_annotated_limits_are_told_and_kept() -> None:
    def pay(amount: Annotated[int, Meta(ge=1, lt=100, description="in francs")]) -> str:
        return "paid"

    tool = tool_from_function(pay)
    limits = {"type": "integer", "description": "in francs", "minimum": 1, "exclusiveMaximum": 100}
    assert tool.parameters["properties"]["amount"] == limits
    assert text(await call(tool, amount=99)) == "paid"
    for amount in (0, -500, "-500", 100):
        with pytest.raises(InvalidArguments):
            await call(tool, amount=amount)


async def test_a_missing_argument_takes_the_default_of_the_function() -> None:
    assert text(await call(tool_from_function(weather), city="Bern")) == "Bern 3 False"
    assert text(await call(tool_from_function(weather), city="Bern", days="2", exact="true")) == "Bern 2 True"


async def test_unknown_arguments_are_dropped() -> None:
    assert text(await call(tool_from_function(weather), city="Bern", colour="red")) == "Bern 3 False"


def test_literal_enum_list_dict_and_optional_have_schemas() -> None:
    def f(
        a: Literal["x", "y"], b: Colour, c: list[int], d: dict[str, float], e: str | None, g: int | None = None
    ) -> str:
        return ""

    assert tool_from_function(f).parameters["properties"] == {
        "a": {"type": "string", "enum": ["x", "y"]},
        "b": {"type": "string", "enum": ["red", "blue"]},
        "c": {"type": "array", "items": {"type": "integer"}},
        "d": {"type": "object", "additionalProperties": {"type": "number"}},
        "e": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "g": {"type": "integer"},
    }
    assert tool_from_function(f).parameters["required"] == ["a", "b", "c", "d", "e"]


async def test_values_arrive_as_the_annotated_types() -> None:
    seen: list[Any] = []

    def f(colour: Colour, point: Point, points: list[Point], options: Options, ratio: float) -> None:
        seen.extend([colour, point, points, options, ratio])

    tool = tool_from_function(f)
    await call(tool, colour="blue", point={"x": 1}, points=[{"x": "2", "y": 3}], options={"depth": 4}, ratio=1)
    assert seen == [Colour.BLUE, Point(1, 0), [Point(2, 3)], {"depth": 4}, 1.0]
    assert isinstance(seen[4], float)
    with pytest.raises(InvalidArguments, match=r"point\.x: missing"):
        await call(tool, colour="blue", point={}, points=[], options={"depth": 4}, ratio=1)
    with pytest.raises(InvalidArguments, match="colour: must be one of"):
        await call(tool, colour="green", point={"x": 1}, points=[], options={"depth": 4}, ratio=1)


async def test_a_type_within_itself_is_validated_and_built_at_every_depth() -> None:
    seen: list[Any] = []

    def f(node: Node) -> None:
        seen.append(node)

    tool = tool_from_function(f)
    await call(tool, node={"name": "a", "children": [{"name": "b", "children": []}]})
    assert seen == [Node("a", [Node("b", [])])]
    with pytest.raises(InvalidArguments, match=r"node\.children\.0\.children: missing"):
        await call(tool, node={"name": "a", "children": [{"name": "b"}]})


async def test_pydantic_models_are_validated_and_built() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Item(pydantic.BaseModel):
        name: str
        count: int = pydantic.Field(default=1, ge=1)

    class Order(pydantic.BaseModel):
        items: list[Item]

    seen: list[Any] = []

    def f(order: Order) -> None:
        seen.append(order)

    f.__annotations__["order"] = Order
    tool = tool_from_function(f)
    await call(tool, order={"items": [{"name": "pen", "count": "2"}]})
    assert seen[0].items[0].count == 2
    with pytest.raises(InvalidArguments, match="count"):
        await call(tool, order={"items": [{"name": "pen", "count": 0}]})


async def test_injected_parameters_are_not_in_the_schema() -> None:
    async def f(q: str, call_id: ToolCallId, signal: AbortSignal | None, update: OnUpdate, context: Context) -> str:
        update(ToolResult.of_text("half"))
        return f"{q} {call_id} {isinstance(signal, AbortSignal)} {context.call}"

    updates: list[ToolResult] = []
    tool = tool_from_function(f, inject={Context: lambda call_id, signal, update: Context(f"<{call_id}>")})
    assert list(tool.parameters["properties"]) == ["q"]
    result = await tool.execute("c7", {"q": "a"}, AbortController().signal, updates.append)
    assert text(result) == "a c7 True <c7>"
    assert [text(update) for update in updates] == ["half"]


async def test_a_sync_function_does_not_hold_up_the_event_loop() -> None:
    released = threading.Event()

    def f() -> str:
        assert released.wait(60)
        return "done"

    running = asyncio.ensure_future(call(tool_from_function(f)))
    await asyncio.sleep(0.05)
    released.set()
    assert text(await running) == "done"


async def test_other_json_values_are_shown_as_json_and_kept() -> None:
    def f() -> dict[str, Any]:
        return {"a": [1, 2.0], "b": None}

    result = await call(tool_from_function(f))
    assert text(result) == '{"a":[1,2],"b":null}'
    assert result.structured_content == {"a": [1, 2.0], "b": None}


async def test_a_tool_result_is_taken_as_it_is() -> None:
    own = ToolResult.of_text("x", details={"k": 1}, is_error=True)

    async def f() -> ToolResult:
        return own

    assert await call(tool_from_function(f)) is own


async def test_what_the_function_raises_is_not_hidden() -> None:
    def f() -> str:
        raise LookupError("no such city")

    with pytest.raises(LookupError, match="no such city"):
        await call(tool_from_function(f))


async def test_methods_and_callable_objects_are_tools_too() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0

        def add(self, amount: int, /) -> int:
            """Add."""
            self.total += amount
            return self.total

        async def __call__(self, amount: int) -> str:
            return f"called {amount}"

    counter = Counter()
    assert text(await call(tool_from_function(counter.add), amount=2)) == "2"
    assert text(await call(tool_from_function(counter, name="counter"), amount=2)) == "called 2"


def test_overrides_replace_fields() -> None:
    tool = tool_from_function(weather, name="forecast", prompt_snippet="Weather", execution_mode="sequential")
    assert (tool.name, tool.prompt_snippet, tool.execution_mode) == ("forecast", "Weather", "sequential")


def test_what_cannot_be_told_to_a_model_is_refused_when_the_tool_is_made() -> None:
    def variadic(*args: str) -> str:
        return ""

    def file(handle: threading.Event) -> str:
        return ""

    def keys(table: dict[int, str]) -> str:
        return ""

    with pytest.raises(TypeError, match=r"\*args"):
        tool_from_function(variadic)
    with pytest.raises(TypeError, match=r"'handle' of the tool 'file': Event cannot be described"):
        tool_from_function(file)
    with pytest.raises(TypeError, match="keys of a dict must be str"):
        tool_from_function(keys)
